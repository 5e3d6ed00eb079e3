"""A program that is watched: its calls, its pauses, and the wait for what becomes of them."""

from __future__ import annotations

import itertools
import os
import queue
import sys
import threading
import time
import types
import warnings
from typing import Any, Awaitable, Callable, Dict, Optional

from . import _values
from ._bridge import TOO_LONG, Bridge, BridgeError, BridgeLost, find
from ._evaluate import Namespace, stack
from ._place import HERE, Place, parent, thread_name
from ._waiting import Cancellation, Raised, Refused, Withdrawn, beside
from ._watched import Watched

#: Milliseconds of a poll. A shorter one only costs messages.
WAIT_MS = 20_000
#: Attempts to start another bridge.
TRIES = 3

class _Thread(threading.local):
    is_busy = False


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
        parent.set(None)
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
        watched = Watched(self, function, args, kwargs, kind, frame, name)
        if watched.begin():
            return watched.result
        outer = parent.get()
        parent.set(watched.call)
        try:
            result = function(*watched.args, **watched.kwargs)
        except BaseException as error:
            parent.set(outer)
            return watched.fails(error)
        parent.set(outer)
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
        watched = Watched(self, function, args, kwargs, kind, frame, name)
        # the stack is whole only now
        watched.stack = stack(frame, HERE)
        watched.cancellation = Cancellation()
        return self._acall(watched, watched.cancellation)

    async def _acall(self, watched: Watched, cancellation: Cancellation) -> Any:
        if await beside(cancellation, watched.begin):
            return watched.result
        outer = parent.get()
        parent.set(watched.call)
        try:
            result = watched.function(*watched.args, **watched.kwargs)
            if hasattr(result, "__await__"):
                result = await result
        except BaseException as error:
            failure = error
            parent.set(outer)
        else:
            parent.set(outer)
            return await beside(cancellation, watched.returns, result)
        return await beside(cancellation, watched.fails, failure)

    def pause(self, label: str, frame: types.FrameType) -> None:
        opened = self.ask(
            "pause/open",
            {
                "label": label,
                "stack": stack(frame, HERE),
                "thread": thread_name(),
                "call": parent.get(),
                "key": self.key(),
            },
        )
        if opened is None or opened.get("pause") is None:
            return
        action, _ = self.decided(opened["pause"], frame, {})
        if action.get("kind") == "raise":
            raise Raised(action.get("error") or "raised at a pause")

    # ---- waiting ---------------------------------------------------------------------------------------------------

    def wait(self, pause: str, at: Place, cancellation: Optional[Cancellation] = None) -> Dict[str, Any]:
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
        at = Place(frame, extra)
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

    def _value(self, source: Any, pause: str, at: Place) -> Any:
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

    def _wait_on(self, bridge: Bridge, pause: str, at: Place, news: Any) -> Dict[str, Any]:
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

    def _evaluate(self, asked: Dict[str, Any], at: Place) -> None:
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


def _copy(names: Namespace) -> Namespace:
    made = Namespace()
    made.names.update(names.names)
    made.assigned = set(names.assigned)
    return made
