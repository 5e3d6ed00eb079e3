"""Output of evaluations: a router by thread, in place of `sys.stdout` and `sys.stderr` while an evaluation runs."""

from __future__ import annotations

import sys
import threading
from typing import Any, Dict, Optional


class Router:
    """Writes of an evaluation's thread go into its buffer, all others through. No `io` class: those close when they go."""

    def __init__(self, through: Any) -> None:
        self.through = through

    def write(self, text: str) -> int:
        buffer = _buffers.get(threading.get_ident())
        if buffer is not None:
            return buffer.write(text)
        return self.through.write(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if threading.get_ident() not in _buffers:
            self.through.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.through, name)

    def close(self) -> None:
        if threading.get_ident() not in _buffers:
            self.through.close()

    def __iter__(self) -> Any:
        return iter(self.through)

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True


class Buffer:
    """Text of one evaluation, up to a limit. An abandoned one keeps nothing more."""

    LIMIT = 1 << 20

    def __init__(self) -> None:
        self._parts: list = []
        self._size = 0
        self._left_out = 0
        self.is_abandoned = False

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if not self.is_abandoned:
            room = self.LIMIT - self._size
            if room < len(text):
                self._left_out += len(text) - max(room, 0)
                text_kept = text[: max(room, 0)]
            else:
                text_kept = text
            self._size += len(text_kept)
            if text_kept:
                self._parts.append(text_kept)
        return len(text)

    def text(self) -> str:
        text = "".join(self._parts)
        if self._left_out:
            text += f"\n… {self._left_out} characters more\n"
        return text


#: Of evaluations that run, also of those that were given up, by their threads.
_buffers: Dict[int, Buffer] = {}
_lock = threading.Lock()
#: Evaluations that run, without those that were given up.
_running = 0
_put: Dict[str, Optional[Router]] = {"stdout": None, "stderr": None}


def capture(buffer: Buffer) -> None:
    """Sends what this thread prints into the buffer, until `release`."""
    global _running
    with _lock:
        _buffers[threading.get_ident()] = buffer
        # with none that runs, only the program can have put something else there
        _install(is_programs=_running == 0)
        if not buffer.is_abandoned:
            _running += 1


def release() -> None:
    global _running
    with _lock:
        buffer = _buffers.pop(threading.get_ident())
        if not buffer.is_abandoned:
            _running -= 1
            # code of the evaluation may have put something else there
            _install()
        if not _buffers:
            _uninstall()


def abandon(buffer: Buffer) -> None:
    """Drops what the evaluation prints from here on. The program goes on beside it, with its own streams."""
    global _running
    with _lock:
        if not buffer.is_abandoned and any(each is buffer for each in _buffers.values()):
            _running -= 1
            _install()
        buffer.is_abandoned = True


def _install(is_programs: bool = False) -> None:
    for name, router in _put.items():
        there = getattr(sys, name)
        if router is not None and there is router:
            continue
        if router is None or is_programs:
            router = Router(there)
            _put[name] = router
        # what an evaluation put there is not the program's
        setattr(sys, name, router)


def _uninstall() -> None:
    for name, router in _put.items():
        # something else there is the program's
        if router is not None and getattr(sys, name) is router:
            setattr(sys, name, router.through)
        _put[name] = None
