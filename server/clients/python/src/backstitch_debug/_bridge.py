"""The child process `backstitch bridge`, and JSON-RPC with it: a message a line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from typing import Any, Callable, Dict, Optional


#: Bytes of a message at most, as the bridge has it, and its code for a longer one.
MAX_MESSAGE = 32 << 20
TOO_LONG = -32000


class Oversize(Exception):
    """A message is too long."""


class BridgeError(RuntimeError):
    """The bridge refused something."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class BridgeLost(RuntimeError):
    """The bridge cannot be reached."""


class Reply:
    """An answer that is awaited."""

    def __init__(self, then: Optional[Callable[["Reply"], None]] = None) -> None:
        self.ready = threading.Event()
        self.result: Any = None
        self.error: Optional[BaseException] = None
        self.then = then

    def settle(self, result: Any, error: Optional[BaseException]) -> None:
        self.result, self.error = result, error
        self.ready.set()
        if self.then is not None:
            self.then(self)

    def get(self) -> Any:
        self.ready.wait()
        if self.error is not None:
            raise self.error
        return self.result


def on_path(name: str) -> Optional[str]:
    """A program on the search path, without its relative directories: the current one may be a stranger's."""
    dirs = [each for each in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(each)]
    return shutil.which(name, path=os.pathsep.join(dirs)) if dirs else None


def find(binary: Optional[str]) -> str:
    named = binary or os.environ.get("BACKSTITCH_BIN") or on_path("backstitch")
    if not named:
        raise BridgeLost("the program backstitch is not on the search path; name it by BACKSTITCH_BIN or on(binary=…)")
    return named


class Bridge:
    """One child. It is gone once `lost` is set."""

    def __init__(self, binary: str, notified: Callable[[str, Any], None]) -> None:
        self.notified = notified
        self.lost = threading.Event()
        self._lock = threading.Lock()
        self._replies: Dict[int, Reply] = {}
        self._next = 0
        try:
            self._child = subprocess.Popen(
                [binary, "bridge"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise BridgeLost(f"{binary}: {error}") from error
        threading.Thread(target=self._read, name="backstitch bridge", daemon=True).start()

    def _read(self) -> None:
        stdout = self._child.stdout
        assert stdout is not None
        try:
            for line in stdout:
                message = json.loads(line)
                if "method" in message:
                    self.notified(message["method"], message.get("params"))
                    continue
                with self._lock:
                    reply = self._replies.pop(message.get("id"), None)
                if reply is None:
                    continue
                error = message.get("error")
                if error is None:
                    reply.settle(message.get("result"), None)
                else:
                    reply.settle(None, BridgeError(error.get("code", 0), error.get("message", "")))
        except (OSError, ValueError):
            pass
        self._end()

    def _end(self) -> None:
        with self._lock:
            self.lost.set()
            replies, self._replies = list(self._replies.values()), {}
        for reply in replies:
            reply.settle(None, BridgeLost("the bridge has ended"))

    def send(self, method: str, params: Any, then: Optional[Callable[[Reply], None]] = None) -> Reply:
        """Sends a request. `then` is called with its answer, on the reader's thread."""
        reply = Reply(then)
        is_long = False
        with self._lock:
            if self.lost.is_set():
                is_lost = True
            else:
                is_lost = False
                self._next += 1
                number = self._next
                self._replies[number] = reply
                message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                # names of files and texts of a program need not be Unicode
                line = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
                try:
                    if len(line) > MAX_MESSAGE:
                        raise Oversize
                    stdin = self._child.stdin
                    assert stdin is not None
                    stdin.write(line)
                    stdin.flush()
                except Oversize:
                    self._replies.pop(number, None)
                    is_long = True
                except (OSError, ValueError):
                    self._replies.pop(number, None)
                    # before its reader sees the end: the next question goes to another one
                    self.lost.set()
                    is_lost = True
        if is_long:
            reply.settle(None, BridgeError(TOO_LONG, f"{method} has more than {MAX_MESSAGE} bytes"))
        elif is_lost:
            reply.settle(None, BridgeLost("the bridge has ended"))
        return reply

    def ask(self, method: str, params: Any) -> Any:
        return self.send(method, params).get()

    def close(self) -> None:
        stdin = self._child.stdin
        try:
            if stdin is not None:
                stdin.close()
        except OSError:
            pass
        try:
            self._child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._child.kill()

    def forget(self) -> None:
        """After a fork: the child belongs to the parent."""
        for stream in (self._child.stdin, self._child.stdout):
            try:
                if stream is not None:
                    os.close(stream.fileno())
            except (OSError, ValueError):
                pass
        # its end is not this process's to wait for
        self._child.returncode = 0
