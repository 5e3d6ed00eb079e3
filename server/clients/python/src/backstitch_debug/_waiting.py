"""Waits at a pause: their ends, and the thread that waits for a task."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import Any, Callable, Optional


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


async def beside(cancellation: Cancellation, act: Callable[..., Any], *args: Any) -> Any:
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
