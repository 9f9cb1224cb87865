"""What a reader does not understand of a turn, and what is unknown of the turn because of it."""

import re
from collections.abc import Iterable

from turnwise.schemas.conversation import Turn
from turnwise.schemas.grounded import Problem
from turnwise.schemas.values import JsonObject
from turnwise.transforms.matching.responses import without_call

UNREAD = "UnreadPart"
NO_CALL = "ResultWithoutCall"
NO_NAME = "CallWithoutName"
NO_ANSWER = "NoAnswer"
_LONGEST_NAME = 60
_WORK = re.compile(
    r"(^|_)(call|use|result|output|invocation|response|tool|function|action|transfer)s?$|(^|_)code$"
)
_MEDIA = re.compile(r"(^|_)(image|audio|video|media|file|document|blob|pdf|inline_data)s?(_|$)")
_THOUGHTS = ("thinking", "redacted_thinking", "reasoning", "reasoning_content", "thought", "step_start")


def snake(name: str) -> str:
    """Returns a name in small letters with underscores."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[-. ]", "_", name).lower()


def is_work(name: str) -> bool:
    """Tells by the name of a key or a type whether it may hold calls or their results."""
    return bool(_WORK.search(snake(name)))


class Unread:
    """Collects what is not understood of one turn."""

    def __init__(self) -> None:
        self._found: dict[str, list[str]] = {}
        self._calls: str | None = None
        self._words: str | None = None

    @property
    def calls(self) -> str | None:
        """Why calls, results or hand-offs may be missing; None: all are there."""
        return self._calls

    def add(self, kind: str, message: str, calls: bool = False, words: bool = False) -> None:
        """Adds a finding.

        Args:
            kind: Kind of the finding.
            message: What it is, one line.
            calls: Whether calls, results or hand-offs of the turn may be missing because of it.
            words: Whether words of the agent may be.
        """
        self._found.setdefault(kind, []).append(message)
        if calls and self._calls is None:
            self._calls = message
        if words and self._words is None:
            self._words = message

    def part(self, kind: str, by_agent: bool = True) -> None:
        """Adds a part of a message that is not read: media, work (calls or results), or anything.

        A thought is nothing that a reader misses. Only the agent's words are scored, so only its media and
        its unknown parts leave words unknown.

        Args:
            kind: Its type, or the key that names it.
            by_agent: Whether the agent sent it.
        """
        name, shown = snake(kind), repr(kind[:_LONGEST_NAME])
        if name in _THOUGHTS:
            return
        works = bool(_WORK.search(name))
        if _MEDIA.search(name) and not works:
            self.add(UNREAD, f"a part of the type {shown} is not read", words=by_agent)
        else:
            said = f"a part of the type {shown} is not read; it may be a call or a result"
            self.add(UNREAD, said, calls=True, words=by_agent and not works)

    def keys(self, value: JsonObject, known: frozenset[str]) -> None:
        """Adds the keys of an object that are not known and whose names say that they may hold calls."""
        if value.keys() <= known:
            return
        for name, item in value.items():
            if name not in known and item and is_work(name):
                shown = repr(name[:_LONGEST_NAME])
                self.add(UNREAD, f"the key {shown} is not read; it may hold calls or results", calls=True)

    def add_to(self, turn: Turn) -> Turn:
        """Returns the turn, with what was found."""
        if self._found:
            turn.findings = [*turn.findings, *(Problem.of(kind, said) for kind, said in self._found.items())]
            turn.unknown_calls = turn.unknown_calls or self._calls
            turn.unknown_words = turn.unknown_words or self._words
        return turn


def check_calls(turns: Iterable[Turn]) -> None:
    """Adds to turns their calls that name no tool, and their results whose call is nowhere before them."""
    earlier: set[str | None] = set()
    for turn in turns:
        calls = turn.tool_calls
        if calls or turn.tool_responses:
            unread = Unread()
            for place, call in enumerate(calls, 1):
                if not call.name:
                    unread.add(NO_NAME, f"call {place} names no tool", calls=True)
            for response in without_call(calls, turn.tool_responses, earlier):
                shown = repr((response.id or response.name or "")[:_LONGEST_NAME])
                unread.add(NO_CALL, f"the log holds the result {shown} without its call", calls=True)
            unread.add_to(turn)
            for call in calls:
                earlier.add(call.id or call.name)
