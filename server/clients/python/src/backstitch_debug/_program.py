"""A program that is watched: its calls, its pauses, and the wait for what becomes of them."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import os
import queue
import sys
import threading
import time
import types
import warnings
from typing import Any, Awaitable, Callable, Dict, List, Optional, Set

from . import _values
from ._bridge import TOO_LONG, Bridge, BridgeError, BridgeLost, find
from ._evaluate import Evaluation, Namespace, stack

#: Milliseconds of a poll. A shorter one only costs messages.
WAIT_MS = 20_000
#: Attempts to start another bridge.
TRIES = 3

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Raised(RuntimeError):
    """Somebody had a paused call raise this."""


class Refused(Exception):
    """An expression of a decision has no value."""


class Withdrawn(Exception):
    """The task of a paused call was cancelled."""


class Cancellation:
    """Wakes the thread that waits for a task, once that is cancelled."""

    def __init__(self) -> None:
        self.is_set = False
        self._lock = threading.Lock()
        self._news: Any = None

    def set(self) -> None:
        with self._lock:
            self.is_set = True
            if self._news is not None:
                self._news.put((self, "", None))

    def wakes(self, news: Any) -> None:
        with self._lock:
            self._news = news
            if self.is_set:
                news.put((self, "", None))


class _Thread(threading.local):
    is_busy = False


#: The call in which a thread or task is.
_parent: "contextvars.ContextVar[Optional[int]]" = contextvars.ContextVar("backstitch_parent", default=None)


class Program:
    def __init__(self, binary: Optional[str], lost: str) -> None:
        self.binary, self.lost = find(binary), lost
        self.timeout = 30.0
        self.max_object = _values.MAX_BYTES
        self.thread = _Thread()
        self.started = time.time_ns() // 1000
        self._lock = threading.RLock()
        self._bridge: Optional[Bridge] = None
        self._is_over = False
        self._keys = itertools.count(1)
        #: Names of sessions, by their ids.
        self.sessions: Dict[str, Namespace] = {}
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)
        self.bridge()

    # ---- the bridge ------------------------------------------------------------------------------------------------

    def bridge(self) -> Bridge:
        """The bridge; another one if it has died."""
        with self._lock:
            there = self._bridge
            if there is not None and not there.lost.is_set():
                return there
            failure: Optional[BaseException] = None
            for attempt in range(TRIES):
                if attempt > 0:
                    time.sleep(0.05 * attempt)
                try:
                    made = Bridge(self.binary, self._notified)
                    said = made.ask(
                        "hello",
                        {
                            "pid": os.getpid(),
                            "started": self.started,
                            "argv": [str(each) for each in getattr(sys, "argv", [])],
                            "language": "python",
                            "cwd": os.getcwd(),
                        },
                    )
                    self.timeout = said.get("evalTimeoutMs", 30_000) / 1000
                    self.max_object = said.get("maxObject", _values.MAX_BYTES)
                    self._bridge = made
                    return made
                except (BridgeLost, BridgeError) as error:
                    failure = error
            raise BridgeLost(f"{self.binary} bridge cannot be started: {failure}") from failure

    def ask(self, method: str, params: Any) -> Any:
        """Asks the bridge, and another one if it dies meanwhile. None: it is lost, and the program continues."""
        for _ in range(TRIES):
            try:
                return self.bridge().ask(method, params)
            except BridgeLost:
                if self._is_over:
                    return None
        return self._give_up("the bridge dies again and again")

    def key(self) -> str:
        """A name of a request. Asked again by it, another bridge finds the pause that the last one opened."""
        return str(next(self._keys))

    def _give_up(self, why: str) -> None:
        if self.lost == "raise":
            raise BridgeLost(why)
        warnings.warn(f"backstitch: {why}; the program continues unwatched", RuntimeWarning, stacklevel=3)

    def _notified(self, method: str, params: Any) -> None:
        if method == "repl/closed" and isinstance(params, dict):
            self.sessions.pop(params.get("session", ""), None)

    def _forked(self) -> None:
        bridge, self._bridge = self._bridge, None
        self._lock = threading.RLock()
        self.thread = _Thread()
        _parent.set(None)
        self.sessions = {}
        self.started = time.time_ns() // 1000
        if bridge is not None:
            bridge.forget()

    def end(self) -> None:
        self._is_over = True
        with self._lock:
            bridge, self._bridge = self._bridge, None
        if bridge is not None:
            bridge.close()

    # ---- calls -----------------------------------------------------------------------------------------------------

    def is_busy(self) -> bool:
        """True while the client's own code runs on this thread: it is not paused again."""
        return self.thread.is_busy

    def mark_busy(self) -> None:
        self.thread.is_busy = True

    def call(
        self,
        function: Callable[..., Any],
        args: Any,
        kwargs: Any,
        kind: str,
        frame: types.FrameType,
        name: Optional[str] = None,
    ) -> Any:
        watched = _Watched(self, function, args, kwargs, kind, frame, name)
        if watched.begin():
            return watched.result
        outer = _parent.get()
        _parent.set(watched.call)
        try:
            result = function(*watched.args, **watched.kwargs)
        except BaseException as error:
            _parent.set(outer)
            return watched.fails(error)
        _parent.set(outer)
        return watched.returns(result)

    def acall(
        self,
        function: Callable[..., Any],
        args: Any,
        kwargs: Any,
        frame: types.FrameType,
        kind: str = "inline",
        name: Optional[str] = None,
    ) -> Awaitable[Any]:
        watched = _Watched(self, function, args, kwargs, kind, frame, name)
        # the stack is whole only now
        watched.stack = stack(frame, _HERE)
        watched.cancellation = Cancellation()
        return self._acall(watched, watched.cancellation)

    async def _acall(self, watched: "_Watched", cancellation: Cancellation) -> Any:
        if await _beside(cancellation, watched.begin):
            return watched.result
        outer = _parent.get()
        _parent.set(watched.call)
        try:
            result = watched.function(*watched.args, **watched.kwargs)
            if hasattr(result, "__await__"):
                result = await result
        except BaseException as error:
            failure = error
            _parent.set(outer)
        else:
            _parent.set(outer)
            return await _beside(cancellation, watched.returns, result)
        return await _beside(cancellation, watched.fails, failure)

    def pause(self, label: str, frame: types.FrameType) -> None:
        opened = self.ask(
            "pause/open",
            {
                "label": label,
                "stack": stack(frame, _HERE),
                "thread": _thread(),
                "call": _parent.get(),
                "key": self.key(),
            },
        )
        if opened is None or opened.get("pause") is None:
            return
        action, _ = self.decided(opened["pause"], frame, {})
        if action.get("kind") == "raise":
            raise Raised(action.get("error") or "raised at a pause")

    # ---- waiting ---------------------------------------------------------------------------------------------------

    def wait(self, pause: str, at: "_Place", cancellation: Optional[Cancellation] = None) -> Dict[str, Any]:
        """Pauses until there is an action, and evaluates what is asked meanwhile."""
        news: "queue.Queue[Any]" = queue.Queue()
        if cancellation is not None:
            cancellation.wakes(news)
        while True:
            try:
                return self._wait_on(self.bridge(), pause, at, news)
            except Withdrawn:
                self._withdraw(pause)
                return {"kind": "withdrawn"}
            except BridgeLost:
                if self._is_over:
                    return {"kind": "continue"}
                try:
                    self.bridge().ask("pause/take", {"pause": pause})
                except BridgeError:
                    # it was decided while no bridge was there
                    continue
                except BridgeLost as error:
                    self._give_up(str(error))
                    return {"kind": "continue"}

    def _withdraw(self, pause: str) -> None:
        try:
            self.ask("pause/withdraw", {"pause": pause})
        except (BridgeError, BridgeLost):
            # it was decided meanwhile, or nobody is there
            pass

    def decided(
        self,
        pause: str,
        frame: types.FrameType,
        extra: Dict[str, Any],
        cancellation: Optional[Cancellation] = None,
        prepare: Optional[Callable[[Dict[str, Any], Callable[[Any], Any]], Any]] = None,
    ) -> Any:
        """Waits for an action that can be carried out. Returns it, and what `prepare` has made of its expressions, of which it
        gets the values by the function it is given. One whose expressions fail is refused, and the pause continues."""
        at = _Place(frame, extra)
        self.thread.is_busy = True
        try:
            while True:
                action = self.wait(pause, at, cancellation)
                if prepare is None or action.get("kind") not in ("replace", "modify"):
                    return action, None
                try:
                    made = prepare(action, lambda source: self._value(source, pause, at))
                except Exception as error:
                    why = str(error) if isinstance(error, Refused) else f"{type(error).__name__}: {error}"
                    try:
                        said = self.ask("pause/refuse", {"pause": pause, "error": why})
                    except BridgeError:
                        said = None
                    if said is None or not said.get("held"):
                        # it is over, and nobody can decide anew
                        return {"kind": "continue"}, None
                    continue
                try:
                    self.ask("pause/confirm", {"pause": pause})
                except BridgeError:
                    # its bridge has none
                    pass
                return action, made
        except (BridgeLost, BridgeError):
            raise
        except BaseException:
            # a handler of a signal raises, such as Ctrl-C: nobody waits for the decision any longer
            self._withdraw(pause)
            raise
        finally:
            at.leave()
            self.thread.is_busy = False

    def _value(self, source: Any, pause: str, at: "_Place") -> Any:
        """The value of an expression at a place, as a REPL there has it. A value that is not a text is returned as it is."""
        if not isinstance(source, str):
            return source
        if not source.strip():
            raise Refused("an empty text is not an expression")
        running = at.start(source, Namespace(), self.mark_busy, 0)
        if running is None:
            raise Refused("the pause is over")
        until = time.monotonic() + self.timeout
        while not running.is_over.wait(0.2):
            if time.monotonic() > until:
                running.abandon()
                raise Refused(f"TimeoutError: no end within {self.timeout:g} s")
            self._keep(pause)
        answer = running.answer
        if answer is None:
            raise Refused("the evaluation ended without a value")
        if answer.error is not None:
            raise Refused(answer.error)
        if not answer.has_value:
            raise Refused(f"{source.strip()!r} is a statement, and has no value")
        return answer.value

    def _keep(self, pause: str) -> None:
        """Has another bridge hold a pause whose bridge has died."""
        there = self._bridge
        if there is not None and not there.lost.is_set():
            return
        try:
            self.bridge().ask("pause/take", {"pause": pause})
        except (BridgeError, BridgeLost):
            # the next question says so
            pass

    def _wait_on(self, bridge: Bridge, pause: str, at: "_Place", news: Any) -> Dict[str, Any]:
        params = {"pause": pause, "waitMs": WAIT_MS, "confirms": True}

        def poll(method: str) -> None:
            bridge.send(method, params, lambda reply: news.put((bridge, method, reply)))

        poll("pause/poll")
        poll("repl/poll")
        while True:
            source, method, reply = news.get()
            if isinstance(source, Cancellation):
                raise Withdrawn
            if source is not bridge:
                continue
            if isinstance(reply.error, BridgeLost):
                raise reply.error
            if method == "pause/poll":
                if reply.error is not None:
                    # the pause is gone, and nobody can end it any longer
                    return {"kind": "continue"}
                action = reply.result.get("action")
                if action is not None:
                    return action
                poll("pause/poll")
            else:
                asked = reply.result if reply.error is None else None
                # one that a bridge had taken before it died comes again
                if asked and asked.get("evalId") is not None and at.is_new(asked["evalId"]):
                    threading.Thread(target=self._evaluate, args=(asked, at), name="backstitch wait", daemon=True).start()
                poll("repl/poll")

    def _evaluate(self, asked: Dict[str, Any], at: "_Place") -> None:
        self.thread.is_busy = True
        names = self.sessions.setdefault(asked["session"], Namespace())
        running = at.start(asked["expression"], names, self.mark_busy, self.max_object)
        if running is None:
            return
        seconds = asked.get("timeoutMs", 30_000) / 1000
        answer: Dict[str, Any] = {"evalId": asked["evalId"], "pause": asked["pause"], "session": asked["session"]}
        if running.is_over.wait(seconds) and running.answer is not None:
            cid, data = running.data
            answer.update(
                result=running.answer.result,
                stdout=running.buffer.text(),
                error=running.answer.error,
                cid=cid,
                data=data,
                view=running.view,
            )
        elif running.is_over.is_set():
            answer.update(stdout=running.buffer.text(), error="the evaluation ended without an answer")
        else:
            answer.update(stdout=running.buffer.text(), error=f"TimeoutError: no end within {seconds:g} s; it continues by itself")
            running.abandon()
            # later assignments are dropped; a session that was closed meanwhile stays gone
            if asked["session"] in self.sessions:
                self.sessions[asked["session"]] = _copy(names)
        try:
            self.ask("repl/result", answer)
        except BridgeLost:
            pass
        except BridgeError as error:
            # else its session is closed: the result is nobody's
            if error.code == TOO_LONG:
                short = {name: answer[name] for name in ("evalId", "pause", "session")}
                self._tell_too_long({**short, "stdout": "", "error": str(error)})

    def _tell_too_long(self, answer: Dict[str, Any]) -> None:
        try:
            self.ask("repl/result", answer)
        except (BridgeError, BridgeLost):
            pass


class _Place:
    """The place of a pause: its frame, names beside those of the frame, and the context of its thread or task."""

    def __init__(self, frame: types.FrameType, extra: Dict[str, Any]) -> None:
        self.frame, self.extra = frame, extra
        self._context = contextvars.copy_context()
        self._lock = threading.Lock()
        self._evaluations: Optional[List[Evaluation]] = []
        self._asked: Set[int] = set()

    def is_new(self, number: int) -> bool:
        """True if this input was not asked before."""
        is_new = number not in self._asked
        self._asked.add(number)
        return is_new

    def start(self, source: str, names: Namespace, mark_busy: Any, max_object: int) -> Optional[Evaluation]:
        """Starts an evaluation. None: the pause is over."""
        with self._lock:
            if self._evaluations is None:
                return None
            # a context is for one thread at a time, and an evaluation that was given up may still run
            context = self._context.copy()
            made = Evaluation(source, names, self.frame, self.extra, context, mark_busy, max_object)
            self._evaluations = [each for each in self._evaluations if not each.is_over.is_set()] + [made]
            made.start()
            return made

    def leave(self) -> None:
        """The pause is over: evaluations that still run are nobody's."""
        with self._lock:
            running, self._evaluations = self._evaluations or [], None
        for each in running:
            each.abandon()


async def _beside(cancellation: Cancellation, act: Callable[..., Any], *args: Any) -> Any:
    """Calls it on its own thread, in the context of the task. The executor of the loop is the program's: paused calls
    would fill it, and the loop waits for it at its end."""
    loop = asyncio.get_running_loop()
    ended = loop.create_future()
    context = contextvars.copy_context()
    task = asyncio.current_task()

    def settle(result: Any, error: Optional[BaseException]) -> None:
        # a task that was cancelled does not wait any longer
        if not ended.done():
            ended.set_result((result, error))

    def run() -> None:
        result, error = None, None
        try:
            result = context.run(act, *args)
        except BaseException as raised:  # noqa: B902 - it is raised again in the task
            error = raised
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:
            # the loop is closed
            pass

    name = task.get_name() if task is not None else "backstitch call"
    threading.Thread(target=run, name=name, daemon=True).start()
    try:
        result, error = await ended
    except BaseException:
        cancellation.set()
        raise
    if error is not None:
        raise error
    return result


def _copy(names: Namespace) -> Namespace:
    made = Namespace()
    made.names.update(names.names)
    made.assigned = set(names.assigned)
    return made


def _thread() -> str:
    return threading.current_thread().name


def _name_of(function: Any) -> str:
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    module = getattr(function, "__module__", None)
    return f"{module}.{name}" if module else str(name)


class _Watched:
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
                "thread": _thread(),
                "parent": _parent.get(),
                "stack": self.stack if self.stack is not None else stack(self.frame, _HERE),
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
                "thread": _thread(),
                "stack": self.stack if self.stack is not None else stack(self.frame, _HERE),
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
