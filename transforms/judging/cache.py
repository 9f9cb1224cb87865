"""Caches replies in a place that processes share."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import NamedTuple
from uuid import uuid4

from turnwise.transforms.judging.places.base import PlaceError, ReplyPlace

_LARGEST_BATCH = 500
_GATHER_S = 0.005
_CLAIM_S = 6.0
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


class FoundReplies(NamedTuple):
    """What is known of a question.

    Attributes:
        replies: The replies, by number of the sample.
        is_own: Whether the question is claimed for the caller.
    """

    replies: CachedReplies
    is_own: bool


class _Put(NamedTuple):
    question: bytes
    sample: int
    reply: CachedReply


class _Lookup(NamedTuple):
    question: bytes
    is_claim: bool
    answer: "asyncio.Future[FoundReplies]"


class _Release(NamedTuple):
    question: bytes


_Item = _Put | _Lookup | _Release | None


class ReplyCache:
    """Replies by question and number of the sample, for one event loop.

    One thread reads and writes in batches of a few milliseconds, so that the event loop does not wait for a
    disk or network. A killed process loses only the replies of the last milliseconds. If the place fails
    later, a warning is logged once. Then replies of a file are requested again; those of a place that is
    needed cannot be had.

    The thread also renews the claims of questions. Those of a killed process end after some seconds.
    """

    def __init__(self, place: ReplyPlace, claim_s: float = _CLAIM_S):
        """Starts the thread.

        Args:
            place: Where the replies are.
            claim_s: Seconds after which the claims of a killed process end.
        """
        self._place = place
        self._queue: SimpleQueue[_Item] = SimpleQueue()
        self._has_failed = False
        self._claim_s = claim_s
        self._holder, self._held, self._renewed = uuid4().hex, set[bytes](), time.monotonic()
        self._thread = threading.Thread(target=self._work, name="turnwise-judge-cache", daemon=True)
        self._thread.start()

    async def get(self, question: bytes) -> CachedReplies:
        """Returns the replies to a question that are there, by number.

        Raises:
            PlaceError: The place is needed and does not answer.
        """
        return (await self._look(question, is_claim=False)).replies

    async def claim(self, question: bytes) -> FoundReplies:
        """Claims a question, unless it is claimed already, and returns the replies that are there then.

        If the place fails and is not needed, the question is the caller's.

        Raises:
            PlaceError: The place is needed and does not answer.
        """
        return await self._look(question, is_claim=True)

    def release(self, question: bytes) -> None:
        """Ends the claim of a question, if there is one, once its replies are written."""
        self._queue.put(_Release(question))

    def _look(self, question: bytes, is_claim: bool) -> "asyncio.Future[FoundReplies]":
        answer: asyncio.Future[FoundReplies] = asyncio.get_running_loop().create_future()
        self._queue.put(_Lookup(question, is_claim, answer))
        return answer

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
            ended = self._held if not is_open else {item.question for item in batch if type(item) is _Release}
            self._release(ended & self._held)
            self._answer([item for item in batch if isinstance(item, _Lookup)])
            self._renew()
        self._place.close()

    def _batch(self) -> list[_Item]:
        batch: list[_Item] = []
        with suppress(Empty):
            batch.append(self._queue.get(timeout=self._claim_s / 3 if self._held else None))
        time.sleep(_GATHER_S)
        with suppress(Empty):
            while len(batch) < _LARGEST_BATCH:
                batch.append(self._queue.get_nowait())
        return batch

    def _write(self, items: Sequence[_Put]) -> None:
        if not items:
            return
        rows = [(item.question, item.sample, *item.reply) for item in items]
        self._try(lambda: self._place.write(rows))

    def _answer(self, looks: Sequence[_Lookup]) -> None:
        if not looks:
            return
        found: dict[bytes, CachedReplies] = {}
        failure = None
        new = {look.question for look in looks if look.is_claim} - self._held
        claimed = new
        try:
            if new:
                claimed = self._place.claim(list(new), self._holder, self._claim_s)
                self._held |= claimed
            for row in self._place.read(list({look.question for look in looks})):
                found.setdefault(row[0], {})[row[1]] = CachedReply(*row[2:])
        except PlaceError as error:
            self._warn(error)
            failure = error if self._place.is_needed else None
        answers: list[tuple[asyncio.Future[FoundReplies], FoundReplies | PlaceError]] = []
        for question, is_claim, answer in looks:
            is_own = is_claim and question in claimed
            claimed = claimed - {question} if is_own else claimed
            answers.append((answer, failure or FoundReplies(found.get(question, {}), is_own)))
        with suppress(RuntimeError):  # the loop is closed
            looks[0].answer.get_loop().call_soon_threadsafe(_set_results, answers)

    def _release(self, questions: set[bytes]) -> None:
        self._held = self._held - questions
        if questions:
            self._try(lambda: self._place.release(list(questions), self._holder))

    def _renew(self) -> None:
        if self._held and time.monotonic() > self._renewed + self._claim_s / 3:
            self._renewed = time.monotonic()
            self._try(lambda: self._place.claim(list(self._held), self._holder, self._claim_s))

    def _try(self, work: Callable[[], object]) -> None:
        try:
            work()
        except PlaceError as error:
            self._warn(error)

    def _warn(self, error: Exception) -> None:
        if not self._has_failed:
            self._has_failed = True
            _LOG.warning("%s; %s", error, _NEEDED if self._place.is_needed else _ASKED_ANEW)


def _set_results(
    answers: Sequence[tuple["asyncio.Future[FoundReplies]", FoundReplies | PlaceError]],
) -> None:
    for answer, found in answers:
        if not answer.done():
            if isinstance(found, PlaceError):
                answer.set_exception(found)
            else:
                answer.set_result(found)
