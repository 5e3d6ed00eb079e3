"""Evaluation of inputs at a paused frame. Each session has one dictionary, which is globals and locals."""

from __future__ import annotations

import ast
import asyncio
import codeop
import contextvars
import dis
import inspect
import textwrap
import threading
import traceback
import types
from typing import Any, Dict, List, NamedTuple, Optional, Set

from . import _private, _streams, _values

FILE = "<repl>"
#: Characters of a line of source that a frame has.
MAX_LINE = 500


class Namespace:
    """The names of one session: those of the frame, and above them those that the session has assigned."""

    def __init__(self) -> None:
        self.names: Dict[str, Any] = {}
        self.assigned: Set[str] = set()
        self._filled: Dict[str, Any] = {}

    def fill(self, frame: types.FrameType, extra: Dict[str, Any]) -> None:
        there = dict(frame.f_globals)
        there.update(frame.f_locals)
        there.update(extra)
        for name in list(self._filled):
            if name not in there and name not in self.assigned:
                self.names.pop(name, None)
        for name, value in there.items():
            if name not in self.assigned:
                self.names[name] = value
        self.names.setdefault("__builtins__", __builtins__)
        self._filled = there

    def settle(self, stored: Set[str]) -> None:
        """Notes what an input has assigned and deleted. `stored`: the names that its own code stores: the value may be the one
        that was there."""
        self.assigned.update(name for name in stored if name in self.names)
        for name, value in self.names.items():
            if name not in self._filled or self._filled[name] is not value:
                self.assigned.add(name)
        for name in list(self.assigned):
            if name not in self.names:
                self.assigned.discard(name)


class Answer:
    def __init__(self) -> None:
        self.result = ""
        self.error: Optional[str] = None
        self.value: Any = None
        self.has_value = False


def evaluate(source: str, names: Namespace, frame: types.FrameType, extra: Dict[str, Any]) -> Answer:
    """Executes an input. Its result is the value of its last statement, if that is an expression. `extra`: names beside those
    of the frame, such as arguments."""
    answer = Answer()
    try:
        parts = _compile(source, _private.class_of(frame))
    except (SyntaxError, ValueError, OverflowError, MemoryError, RecursionError) as error:
        answer.error = "".join(traceback.format_exception_only(type(error), error)).rstrip("\n")
        return answer
    names.fill(frame, extra)
    try:
        for part in parts:
            value = _run(part.code, names.names)
            if part.is_expression:
                answer.value, answer.has_value = value, True
        if answer.has_value:
            answer.result = _values.shown(answer.value)
    except BaseException as error:  # noqa: B902 - sys.exit, too
        answer.error = _trace(error)
        answer.has_value = False
        answer.value = None
    finally:
        names.settle({name for part in parts for name in part.stored()})
    return answer


class Part(NamedTuple):
    """The statements of an input before its last expression, or that expression."""

    code: types.CodeType
    is_expression: bool

    def stored(self) -> Set[str]:
        """The names that the code itself assigns."""
        return {each.argval for each in dis.get_instructions(self.code) if each.opname == "STORE_NAME"}


def _run(code: types.CodeType, names: Dict[str, Any]) -> Any:
    value = eval(code, names)  # noqa: S307 - that is what a REPL is for
    # the program's own loop is paused with its thread
    return asyncio.run(value) if code.co_flags & inspect.CO_COROUTINE else value


def _compile(source: str, owner: Optional[str] = None) -> List[Part]:
    """Compiles an input as code of the class `owner`, or of none."""
    complete = codeop.CommandCompiler()
    complete.compiler.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        is_complete = complete(source, FILE, "exec") is not None
    except IndentationError:
        # copied from the middle of a function
        source = textwrap.dedent(source)
        is_complete = complete(source, FILE, "exec") is not None
    if not is_complete:
        raise SyntaxError("incomplete input", (FILE, max(source.count("\n") + 1, 1), 1, None))
    tree = _compiled(source + "\n", "exec", ast.PyCF_ONLY_AST)
    if owner is not None and "__" in source:
        tree = _private.Mangled(owner).visit(tree)
    parts = []
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    if tree.body:
        parts.append(Part(_compiled(tree, "exec"), False))
    if last is not None:
        parts.append(Part(_compiled(ast.Expression(last.value), "eval"), True))
    return parts


def _compiled(source: Any, mode: str, flags: int = 0) -> Any:
    # the input has no `from __future__` of this file
    return compile(source, FILE, mode, flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


def _trace(error: BaseException) -> str:
    """The traceback from the input on."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != FILE:
        trace = trace.tb_next
    try:
        lines = traceback.format_exception(type(error), error, trace)
    except BaseException:  # noqa: B902 - an exception may fail to be shown
        lines = [f"{type(error).__name__}: <unprintable>"]
    text = "".join(lines).rstrip("\n")
    limit = _values.MAX_REPR
    return text if len(text) <= limit else text[:limit] + "…"


class Evaluation(threading.Thread):
    """An input on its own thread, in the context of the paused one: `flask.request` is that of the paused request."""

    def __init__(
        self,
        source: str,
        names: Namespace,
        frame: types.FrameType,
        extra: Dict[str, Any],
        context: contextvars.Context,
        mark_busy: Any,
        max_object: int,
    ) -> None:
        super().__init__(name="backstitch evaluation", daemon=True)
        self.source, self.names, self.frame, self.extra, self.context = source, names, frame, extra, context
        self.buffer = _streams.Buffer()
        self.answer: Optional[Answer] = None
        self.data: Any = (None, None)
        self.view: Any = None
        self.is_over = threading.Event()
        self._mark_busy, self._max_object = mark_busy, max_object

    def run(self) -> None:
        # the client's own code, and what it calls, is not paused again
        self._mark_busy()
        _streams.capture(self.buffer)
        try:
            self.context.run(self._evaluate)
        finally:
            _streams.release()
            self.is_over.set()

    def _evaluate(self) -> None:
        answer = evaluate(self.source, self.names, self.frame, self.extra)
        if answer.has_value and answer.value is not None:
            self.data = _values.stored(answer.value, self._max_object)
            self.view = _values.view(answer.value)
        self.answer = answer

    def abandon(self) -> None:
        _streams.abandon(self.buffer)


def stack(frame: Optional[types.FrameType], own: str) -> list:
    """The frames from the outermost to this one, without those of this package."""
    import linecache

    frames = []
    while frame is not None:
        if not frame.f_code.co_filename.startswith(own):
            frames.append(frame)
        frame = frame.f_back
    frames.reverse()
    made = []
    for at, each in enumerate(frames):
        path, line = each.f_code.co_filename, each.f_lineno
        context, first = [], 0
        if len(frames) - at <= 200:
            first = max(line - 2, 1)
            context = [linecache.getline(path, n).rstrip("\n")[:MAX_LINE] for n in range(first, line + 3)]
            while context and context[-1] == "":
                context.pop()
        name = getattr(each.f_code, "co_qualname", each.f_code.co_name)
        made.append({"name": name, "path": path, "line": line, "context": context, "first": first})
    return made


