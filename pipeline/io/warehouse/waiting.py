"""Waits between the attempts of a request that is not answered."""

import random
import time
from datetime import UTC, datetime
from threading import Event

from turnwise.pipeline.io.terminal import complain

_TOLD_AFTER_S = 5.0
_LONGEST_PAUSE_S = 15.0
_AFTER_STOP_S = 5.0


class Waiting:
    """The time in which one request is asked again."""

    def __init__(self, what: str, patience: float, stop: Event) -> None:
        """Begins now.

        Args:
            what: What does not answer, for messages.
            patience: Seconds in which it is asked again.
            stop: If it is set, some seconds are left at most.
        """
        self._what, self._stop, self._pause = what, stop, 0.1
        self._start, self._began = time.monotonic(), datetime.now(UTC)
        self._deadline = self._start + patience
        self._is_told = self._is_stopping = False

    def again(self, reason: str) -> bool:
        """Waits before the next attempt, and says once that there is no answer; False: the time is over."""
        now = time.monotonic()
        if self._stop.is_set() and not self._is_stopping:
            self._is_stopping, self._deadline = True, min(self._deadline, now + _AFTER_STOP_S)
        if now > self._deadline:
            return False
        if now > self._start + _TOLD_AFTER_S and not self._is_told:
            self._is_told = True
            complain(f"{self._what} has not answered since {self._since}, and is asked again: {reason}")
        pause = self._pause * random.uniform(0.5, 1)
        if self._is_stopping:
            time.sleep(min(pause, 1.0))
        else:
            self._stop.wait(pause)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE_S)
        return True

    def end(self) -> None:
        """Says that there is an answer, if it was said that there is none."""
        if self._is_told:
            complain(f"{self._what} answers again")

    def gave_up(self, reason: str) -> str:
        """Returns what is said when the time is over."""
        hint = "nothing is lost: the same command goes on"
        return f"{self._what}: {reason}; no answer since {self._since}; {hint}"

    @property
    def _since(self) -> str:
        return self._began.strftime("%Y-%m-%dT%H:%M:%SZ")
