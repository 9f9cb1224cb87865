"""Caches replies in a place that processes share."""

import asyncio
import logging
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import NamedTuple

from turnwise.transforms.judging.places.base import PlaceError, ReplyPlace

_LARGEST_BATCH = 500
_GATHER_S = 0.005
_NEEDED = "what it cannot answer is unscored"
_ASKED_ANEW = "replies may be asked for anew"
_LOG = logging.getLogger(__name__)


class CachedReply(NamedTuple):
    """A usable reply: text, model and tokens."""

    text: str
    model: str
    tokens_in: int
    tokens_out: int


CachedReplies = dict[int, CachedReply]


class _Put(NamedTuple):
    question: bytes
    sample: int
    reply: CachedReply


class _Lookup(NamedTuple):
    question: bytes
    answer: "asyncio.Future[CachedReplies]"


_Item = _Put | _Lookup | None


class ReplyCache:
    """Replies by question and number of the sample, for one event loop.

    One thread reads and writes in batches of a few milliseconds, so that the event loop does not wait for a
    disk or network. A killed process loses only the replies of the last milliseconds. If the place fails
    later, a warning is logged once. Then replies of a file are requested again; those of a place that is
    needed cannot be had.
    """

    def __init__(self, place: ReplyPlace):
        """Takes the place of the replies, and starts the thread."""
        self._place = place
        self._queue: SimpleQueue[_Item] = SimpleQueue()
        self._has_failed = False
        self._thread = threading.Thread(target=self._work, name="turnwise-judge-cache", daemon=True)
        self._thread.start()

    async def get(self, question: bytes) -> CachedReplies:
        """Returns the replies to a question that are there, by number.

        Raises:
            PlaceError: The place is needed and does not answer.
        """
        answer: asyncio.Future[CachedReplies] = asyncio.get_running_loop().create_future()
        self._queue.put(_Lookup(question, answer))
        return await answer

    def put(self, question: bytes, sample: int, reply: CachedReply) -> None:
        """Adds a reply; later calls of `get` return it."""
        self._queue.put(_Put(question, sample, reply))

    def close(self) -> None:
        """Writes pending replies and closes the place."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        is_open = True
        while is_open:
            batch = self._batch()
            is_open = None not in batch
            self._write([item for item in batch if isinstance(item, _Put)])
            self._answer([item for item in batch if isinstance(item, _Lookup)])
        self._place.close()

    def _batch(self) -> list[_Item]:
        batch = [self._queue.get()]
        time.sleep(_GATHER_S)
        with suppress(Empty):
            while len(batch) < _LARGEST_BATCH:
                batch.append(self._queue.get_nowait())
        return batch

    def _write(self, items: Sequence[_Put]) -> None:
        if not items:
            return
        rows = [(item.question, item.sample, *item.reply) for item in items]
        try:
            self._place.write(rows)
        except PlaceError as error:
            self._warn(error)

    def _answer(self, looks: Sequence[_Lookup]) -> None:
        if not looks:
            return
        found: dict[bytes, CachedReplies] = {}
        failure = None
        try:
            for row in self._place.read(list({look.question for look in looks})):
                found.setdefault(row[0], {})[row[1]] = CachedReply(*row[2:])
        except PlaceError as error:
            self._warn(error)
            failure = error if self._place.is_needed else None
        answers = [(look.answer, failure or found.get(look.question, {})) for look in looks]
        with suppress(RuntimeError):  # the loop is closed
            looks[0].answer.get_loop().call_soon_threadsafe(_set_results, answers)

    def _warn(self, error: Exception) -> None:
        if not self._has_failed:
            self._has_failed = True
            _LOG.warning("%s; %s", error, _NEEDED if self._place.is_needed else _ASKED_ANEW)


def _set_results(
    answers: Sequence[tuple["asyncio.Future[CachedReplies]", CachedReplies | PlaceError]],
) -> None:
    for answer, found in answers:
        if not answer.done():
            if isinstance(found, PlaceError):
                answer.set_exception(found)
            else:
                answer.set_result(found)
