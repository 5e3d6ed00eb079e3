"""Pauses a program, and answers questions at the spot, from an editor or a terminal.

    import backstitch_debug as bs
    bs.on()
    bs.pause("after planning")           # pauses here
    result = bs.call(plan, state)        # a call that breakpoints can stop at
    model = bs.watch(model)              # each call of its methods, too

Without `on()` (or `BACKSTITCH=on` in the environment) every one of these is a plain call. `PYTHONBREAKPOINT=backstitch_debug.pause`
has `breakpoint()` pause here.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Awaitable, Callable, Optional, TypeVar

from ._bridge import BridgeError, BridgeLost
from ._program import Program
from ._proxy import watched
from ._waiting import Raised

__all__ = ["on", "off", "is_on", "call", "acall", "watch", "pause", "Raised", "BridgeError", "BridgeLost"]

T = TypeVar("T")
_program: Optional[Program] = None


def on(binary: Optional[str] = None, lost: str = "raise") -> None:
    """Begins to watch. `binary`: the program backstitch; by default that of `BACKSTITCH_BIN`, or of the search path.

    `lost`: the outcome if its bridge can no longer be started: `raise`, or `continue` with a warning.
    """
    global _program
    if lost not in ("raise", "continue"):
        raise ValueError("lost is 'raise' or 'continue'")
    if _program is None:
        _program = Program(binary, lost)


def off() -> None:
    """Ends it: every wrapper is a plain call from here on."""
    global _program
    program, _program = _program, None
    if program is not None:
        program.end()


def is_on() -> bool:
    return _program is not None


def _current() -> Optional[Program]:
    return _program


def call(function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Calls a function. Breakpoints can stop before the call, and after it."""
    program = _program
    if program is None or program.is_busy():
        return function(*args, **kwargs)
    return program.call(function, args, kwargs, "inline", sys._getframe(1))


def acall(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Awaitable[Any]:
    """As `call`, for coroutines: other tasks continue while this one is paused."""
    program = _program
    if program is None or program.is_busy():
        return _plain(function, args, kwargs)
    return program.acall(function, args, kwargs, sys._getframe(1))


async def _plain(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    result = function(*args, **kwargs)
    return await result if hasattr(result, "__await__") else result


def watch(target: T, name: Optional[str] = None) -> T:
    """Returns a function or an object whose calls are watched."""
    return watched(target, name, _current)


def pause(label: str = "pause") -> None:
    """Pauses until somebody lets the program continue."""
    program = _program
    if program is not None and not program.is_busy():
        program.pause(str(label), sys._getframe(1))


if os.environ.get("BACKSTITCH", "").lower() in ("on", "1", "true"):
    on()
