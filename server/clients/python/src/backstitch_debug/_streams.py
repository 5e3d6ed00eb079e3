"""Output of evaluations. While one runs, `sys.stdout` and `sys.stderr` belong to the thread that reads or sets them.

`print` and the interpreter read the module's own entries, which are routers meanwhile. Code reads and sets attributes of `sys`,
whose class answers by thread meanwhile. So `contextlib.redirect_stdout` in an evaluation takes no text of another one, and the
program sees its own streams.
"""

from __future__ import annotations

import sys
import threading
from typing import Any, Dict, Optional


class _Stream:
    """A stream as code sees it. Not an `io` class: those close when they are deleted. All but writing is the program's stream's."""

    router: Router

    def write(self, text: str) -> int:
        raise NotImplementedError

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.router.through, name)

    def __iter__(self) -> Any:
        return iter(self.router.through)

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True


class Router(_Stream):
    """The entry of `sys` meanwhile: writes to the stream that its thread has there."""

    def __init__(self, name: str, through: Any) -> None:
        self.name_in_sys = name
        #: The program's stream.
        self.through = through
        self.router = self
        self.own = Own(self)

    def seen(self) -> Any:
        """The stream that this thread has."""
        streams = _streams.get(threading.get_ident())
        return self.through if streams is None else streams[self.name_in_sys]

    def replace(self, stream: Any) -> None:
        """Sets the stream that this thread has."""
        streams = _streams.get(threading.get_ident())
        if streams is not None:
            streams[self.name_in_sys] = stream
        elif not isinstance(stream, _Stream):
            self.through = stream

    def write(self, text: str) -> int:
        stream = self.seen()
        # none: as `print` does without a stream
        return len(text) if stream is None else stream.write(text)

    def flush(self) -> None:
        stream = self.seen()
        if stream is not None:
            stream.flush()

    def close(self) -> None:
        self.own.close()


class Own(_Stream):
    """The stream that an evaluation has at first. A reference that the evaluation keeps becomes the program's stream afterwards."""

    def __init__(self, router: Router) -> None:
        self.router = router

    def write(self, text: str) -> int:
        buffer = _buffers.get(threading.get_ident())
        return (self.router.through if buffer is None else buffer).write(text)

    def flush(self) -> None:
        if threading.get_ident() not in _buffers:
            self.router.through.flush()

    def close(self) -> None:
        if threading.get_ident() not in _buffers:
            self.router.through.close()


class Buffer:
    """Text of one evaluation, up to a limit. An abandoned one keeps nothing else."""

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


#: Buffers of running evaluations by their threads, also of those that were given up.
_buffers: Dict[int, Buffer] = {}
#: Their streams, which they may replace.
_streams: Dict[int, Dict[str, Any]] = {}
_lock = threading.Lock()
_NAMES = ("stdout", "stderr")
#: The class of `sys` while no evaluation runs.
_class: Optional[type] = None


def capture(buffer: Buffer) -> None:
    """Sends what this thread prints into the buffer, until `release`."""
    with _lock:
        if _class is None:
            _install()
        routers = {name: vars(sys).get(name) for name in _NAMES}
        _buffers[threading.get_ident()] = buffer
        _streams[threading.get_ident()] = {
            name: router.own if isinstance(router, Router) else router for name, router in routers.items()
        }


def release() -> None:
    with _lock:
        _streams.pop(threading.get_ident())
        _buffers.pop(threading.get_ident())
        if not _buffers:
            _uninstall()


def abandon(buffer: Buffer) -> None:
    """Drops what the evaluation prints from here on. The program continues beside it, with its own streams."""
    buffer.is_abandoned = True


def _install() -> None:
    global _class
    _class = type(sys)

    class Sys(_class):  # type: ignore[misc, valid-type]
        def __getattribute__(self, name: str) -> Any:
            value = super().__getattribute__(name)
            return value.seen() if name in _NAMES and isinstance(value, Router) else value

        def __setattr__(self, name: str, value: Any) -> None:
            there = vars(self).get(name) if name in _NAMES else None
            if isinstance(there, Router):
                there.replace(value)
            else:
                super().__setattr__(name, value)

    for name in _NAMES:
        vars(sys)[name] = Router(name, vars(sys).get(name))
    sys.__class__ = Sys


def _uninstall() -> None:
    global _class
    assert _class is not None
    sys.__class__ = _class
    _class = None
    for name in _NAMES:
        router = vars(sys).get(name)
        # C code, or `del`, may have changed it meanwhile
        if isinstance(router, Router):
            vars(sys)[name] = router.through
