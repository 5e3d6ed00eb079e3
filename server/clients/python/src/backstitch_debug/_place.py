"""Places in a program: the frame of a pause, its thread, and the watched call around it."""

from __future__ import annotations

import contextvars
import os
import threading
import types
from typing import Any, Dict, List, Optional, Set

from ._evaluate import Evaluation, Namespace

#: The folder of this client, whose frames are not the program's.
HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep

#: The call in which a thread or task is.
parent: "contextvars.ContextVar[Optional[int]]" = contextvars.ContextVar("backstitch_parent", default=None)


def thread_name() -> str:
    return threading.current_thread().name


class Place:
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
