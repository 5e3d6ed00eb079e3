"""Watched calls: their begin, their end, and the decisions about their arguments and results."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional

from . import _values
from ._evaluate import stack
from ._place import HERE, parent, thread_name
from ._waiting import Cancellation, Raised, Refused

if TYPE_CHECKING:
    from ._program import Program


def _name_of(function: Any) -> str:
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    module = getattr(function, "__module__", None)
    return f"{module}.{name}" if module else str(name)


class Watched:
    """One watched call."""

    def __init__(
        self,
        program: Program,
        function: Callable[..., Any],
        args: Any,
        kwargs: Any,
        kind: str,
        frame: types.FrameType,
        name: Optional[str],
    ) -> None:
        self.program, self.function, self.frame, self.kind = program, function, frame, kind
        self.args, self.kwargs = list(args), dict(kwargs)
        self.name = name or _name_of(function)
        self.call: Optional[int] = None
        self.stack: Optional[List[Any]] = None
        self.result: Any = None
        #: Belongs to the task that made the call, if there is one.
        self.cancellation: Optional[Cancellation] = None

    def _quietly(self, act: Callable[[], Any]) -> Any:
        thread = self.program.thread
        before, thread.is_busy = thread.is_busy, True
        try:
            return act()
        finally:
            thread.is_busy = before

    def begin(self) -> bool:
        """True: the call does not run, and has this result."""
        views = self._quietly(lambda: _values.arguments(self.args, self.kwargs))
        began = self.program.ask(
            "call/begin",
            {
                "function": self.name,
                "kind": self.kind,
                "args": views,
                "thread": thread_name(),
                "parent": parent.get(),
                "stack": self.stack if self.stack is not None else stack(self.frame, HERE),
                "key": self.program.key(),
            },
        )
        if began is None:
            return False
        self.call = began.get("call")
        pause = began.get("pause")
        if pause is None:
            return False
        action, made = self.program.decided(pause, self.frame, self._bound(), self.cancellation, self._prepared)
        kind = action.get("kind")
        if kind == "skip":
            self._end("skipped", None)
            return True
        if kind == "replace":
            self.result = made
            self._end("skipped", self.result)
            return True
        if kind == "raise":
            self._end("raised", None, ran=False)
            raise Raised(action.get("error") or "raised at a pause")
        if kind == "withdrawn":
            self._end("raised", None, ran=False)
            return True
        if kind == "modify":
            self.args, self.kwargs = made
        return False

    def _bound(self) -> Dict[str, Any]:
        """The arguments by the names of the function's parameters."""
        import inspect

        try:
            return dict(inspect.signature(self.function).bind_partial(*self.args, **self.kwargs).arguments)
        except (ValueError, TypeError):
            return dict(self.kwargs)

    def _prepared(self, action: Dict[str, Any], value: Callable[[Any], Any]) -> Any:
        """The value, or the arguments, that an action before the call asks for."""
        if action.get("kind") == "replace":
            return value(action.get("value", "None"))
        return self._modified(action.get("args") or {}, value)

    def _modified(self, changes: Any, value: Callable[[Any], Any]) -> Any:
        if isinstance(changes, dict) and isinstance(changes.get("args"), dict) and not self._takes("args"):
            changes = changes["args"]
        if not isinstance(changes, dict):
            raise Refused("the arguments are an object: expressions by name or number")
        args, kwargs = list(self.args), dict(self.kwargs)
        for name, source in changes.items():
            is_number = name.isascii() and name.isdigit()
            at = int(name) if is_number else self._position(name)
            if is_number and at is not None and at >= len(args):
                raise Refused(f"{self.name} was called with {len(args)} positional arguments, and has no number {at}")
            if at is None and not self._takes(name):
                raise Refused(f"{self.name} has no parameter `{name}`; its parameters are {self._parameters()}")
            made = value(source)
            if name in kwargs or at is None or at >= len(args):
                kwargs[name] = made
            else:
                args[at] = made
        return args, kwargs

    def _signature(self) -> Any:
        import inspect

        try:
            return inspect.signature(self.function).parameters
        except (ValueError, TypeError):
            return None

    def _takes(self, name: str) -> bool:
        """True if the call can have an argument of this name. Also true if the function has no signature."""
        parameters = self._signature()
        if parameters is None:
            return True
        return name in self.kwargs or self._position(name) is not None or any(each.kind == each.VAR_KEYWORD for each in parameters.values())

    def _parameters(self) -> str:
        return ", ".join(f"`{name}`" for name in self._signature() or ()) or "none"

    def _position(self, name: str) -> Optional[int]:
        """Place of a parameter that can be given by it. None: it has none."""
        parameters = self._signature()
        if parameters is None or name not in parameters:
            return None
        each = parameters[name]
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            return None
        return list(parameters).index(name)

    def _end(self, outcome: str, result: Any, ran: bool = True) -> Optional[str]:
        if self.call is None:
            return None
        shown = self._quietly(lambda: _values.shown(result, 200))
        ended = self.program.ask(
            "call/end",
            {
                "call": self.call,
                "function": self.name,
                "outcome": outcome,
                "result": shown,
                "thread": thread_name(),
                "stack": self.stack if self.stack is not None else stack(self.frame, HERE),
                "key": self.program.key(),
                "ran": ran,
            },
        )
        return None if ended is None or outcome == "skipped" else ended.get("pause")

    def returns(self, result: Any) -> Any:
        pause = self._end("returned", result)
        if pause is None:
            return result
        extra = {**self._bound(), "result": result}
        action, made = self.program.decided(pause, self.frame, extra, self.cancellation, _after)
        kind = action.get("kind")
        if kind == "replace":
            return made
        if kind == "raise":
            raise Raised(action.get("error") or "raised at a pause")
        return result

    def fails(self, error: BaseException) -> Any:
        pause = self._end("raised", error)
        if pause is not None:
            extra = {**self._bound(), "error": error}
            action, made = self.program.decided(pause, self.frame, extra, self.cancellation, _after)
            if action.get("kind") == "replace":
                return made
            if action.get("kind") == "raise":
                raise Raised(action.get("error") or "raised at a pause") from error
        raise error


def _after(action: Dict[str, Any], value: Callable[[Any], Any]) -> Any:
    """The value that an action after the call asks for."""
    return value(action.get("value", "None"))
