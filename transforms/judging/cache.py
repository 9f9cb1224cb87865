"""Keeps replies in a SQLite file, shared by processes, so that no question is paid for twice."""

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import NamedTuple

from turnwise.transforms.judging.cache_file import open_cache_file

_LARGEST_BATCH = 500
_GATHER_S = 0.005
_KINDS = (str, str, int, int)
_LOG = logging.getLogger(__name__)


class KeptReply(NamedTuple):
    """A usable reply: its text, who answered, and what that had cost in tokens."""

    text: str
    model: str
    tokens_in: int
    tokens_out: int


class _Keep(NamedTuple):
    question: bytes
    sample: int
    reply: KeptReply


Found = dict[int, KeptReply]
_Look = tuple[bytes, "asyncio.Future[Found]"]
_Item = _Keep | _Look | None


class ReplyCache:
    """Replies by question and number of the sample, for one event loop.

    One thread does all reading and writing, a few milliseconds' worth in one go, so that the event loop
    never waits for a disk. A reply is in the file some milliseconds after it was put; a process that is
    killed loses no others. A file that fails later on costs calls, not the run: that is said once, and
    replies are asked for anew.
    """

    def __init__(self, path: str):
        """Opens the file, or makes it; raises ConfigError if it cannot be used."""
        self._path = path
        self._connection = open_cache_file(path)
        self._queue: SimpleQueue[_Item] = SimpleQueue()
        self._has_failed = False
        self._thread = threading.Thread(target=self._work, name="turnwise-judge-cache", daemon=True)
        self._thread.start()

    def get(self, question: bytes) -> "asyncio.Future[Found]":
        """Returns the replies to a question that are there, by number; to be awaited."""
        answer: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
        self._queue.put((question, answer))
        return answer

    def put(self, question: bytes, sample: int, reply: KeptReply) -> None:
        """Keeps a reply; whoever asks for it after this gets it."""
        self._queue.put(_Keep(question, sample, reply))

    def close(self) -> None:
        """Writes what is waiting and closes the file."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        is_open = True
        while is_open:
            batch = self._batch()
            is_open = None not in batch
            self._write([item for item in batch if isinstance(item, _Keep)])
            self._answer([item for item in batch if item is not None and not isinstance(item, _Keep)])
        self._connection.close()

    def _batch(self) -> list[_Item]:
        batch = [self._queue.get()]
        time.sleep(_GATHER_S)
        with suppress(Empty):
            while len(batch) < _LARGEST_BATCH:
                batch.append(self._queue.get_nowait())
        return batch

    def _write(self, items: Sequence[_Keep]) -> None:
        if not items:
            return
        rows = [(item.question, item.sample, *item.reply) for item in items]
        try:
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                self._connection.executemany("INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?)", rows)
        except (sqlite3.Error, ValueError) as error:
            self._say(error)

    def _answer(self, looks: Sequence[_Look]) -> None:
        if not looks:
            return
        found: dict[bytes, Found] = {}
        questions = tuple({question for question, _ in looks})
        marks = ",".join("?" * len(questions))
        query = f"SELECT * FROM replies WHERE question IN ({marks})"
        try:
            for question, sample, *reply in self._connection.execute(query, questions):
                if tuple(map(type, reply)) == _KINDS:
                    found.setdefault(question, {})[sample] = KeptReply(*reply)
        except sqlite3.Error as error:
            self._say(error)
        answers = [(answer, found.get(question, {})) for question, answer in looks]
        with suppress(RuntimeError):  # the loop is closed, and nobody waits
            looks[0][1].get_loop().call_soon_threadsafe(_hand_over, answers)

    def _say(self, error: Exception) -> None:
        if not self._has_failed:
            self._has_failed = True
            _LOG.warning("judge.cache: %s: %s; replies may be asked for anew", self._path, error)


def _hand_over(answers: Sequence[tuple["asyncio.Future[Found]", Found]]) -> None:
    for answer, found in answers:
        if not answer.done():
            answer.set_result(found)
