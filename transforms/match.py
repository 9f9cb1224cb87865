"""Finds the case that a conversation is held against."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import DoOutputsTuple, PCollection
from apache_beam.transforms.window import GlobalWindows

from schemas.case import EvalCase, inline_case
from schemas.conversation import Conversation
from schemas.failure import record_failure
from transforms.conversation_case import ConversationCase
from transforms.counting import CountingDoFn
from transforms.parse import FAILURES, LoggedConversation

USED = "used"


class UnknownCaseError(LookupError):
    """A conversation names a case that nobody gave."""


class CaseIndex:
    """Eval cases by id, and by the last segment of a resource name where that is unambiguous."""

    def __init__(self, cases: Sequence[EvalCase] | None) -> None:
        """Indexes the cases; None: none were given."""
        self._are_given = cases is not None
        cases = cases or ()
        self._by_id = {case.eval_id: case for case in cases}
        counts = Counter(_short(case.eval_id) for case in cases)
        self._by_short = {_short(case.eval_id): case for case in cases if counts[_short(case.eval_id)] == 1}

    def find(self, conversation: Conversation) -> EvalCase | None:
        """Returns the conversation's case: the one it names, or else the one its record brought along.

        Where no cases are given, a name alone points nowhere and the conversation is scored without a case.

        Raises:
            UnknownCaseError: It names a case that is not among the given ones and brings none along.
        """
        name, inline = conversation.eval_id, inline_case(conversation)
        if name is None or not self._are_given:
            return inline
        case = self._by_id.get(name) or self._short_match(name) or inline
        if case is None:
            raise UnknownCaseError(f"no eval case is called {name!r}")
        return case

    def _short_match(self, name: str) -> EvalCase | None:
        """Returns the case of that short name; two full names that differ are two cases."""
        case = self._by_short.get(_short(name))
        return None if case is None or ("/" in name and "/" in case.eval_id) else case


def _short(name: str) -> str:
    return name.rsplit("/", 1)[-1]


class _MatchFn(CountingDoFn):
    def __init__(self) -> None:
        super().__init__()
        self._index = CaseIndex(None)
        self._cases: Sequence[EvalCase] | CaseIndex | None = None

    def start_bundle(self) -> None:
        super().start_bundle()
        self._used: set[str] = set()

    def finish_bundle(self) -> Iterator[Any]:
        super().finish_bundle()
        for eval_id in self._used:
            yield beam.pvalue.TaggedOutput(USED, GlobalWindows.windowed_value(eval_id))

    def process(
        self, logged: LoggedConversation, cases: Sequence[EvalCase] | CaseIndex | None = None
    ) -> Iterator[Any]:
        if cases is not self._cases:
            self._cases = cases
            self._index = cases if isinstance(cases, CaseIndex) else CaseIndex(cases)
        conversation, record = logged
        try:
            case = self._index.find(conversation)
            if cases is not None and case is not None:
                self._used.add(case.eval_id)
            yield ConversationCase(conversation, case, record)
        except Exception as error:
            self.count("lost_conversations")
            failure = record_failure("match", error, record, conversation.conversation_id)
            failure.app_version = conversation.app_version
            yield beam.pvalue.TaggedOutput(FAILURES, failure)


class MatchCases(beam.PTransform[PCollection[LoggedConversation], DoOutputsTuple]):
    """Puts every conversation beside its case; an unknown case is a failure."""

    def __init__(self, cases: "PCollection[EvalCase] | CaseIndex | None") -> None:
        """Keeps the cases: those of a step, or an index made before anything runs; None: none were given."""
        super().__init__()
        self._cases = cases

    def expand(self, conversations: "PCollection[LoggedConversation]") -> Any:
        """Reads the cases of a step as a side input."""
        cases = beam.pvalue.AsList(self._cases) if isinstance(self._cases, PCollection) else self._cases
        return conversations | "Match" >> beam.ParDo(_MatchFn(), cases).with_outputs(
            USED, FAILURES, main="matched"
        )


def _unused(case: EvalCase) -> tuple[str, int]:
    return case.eval_id, 0


def _once(eval_id: str) -> tuple[str, int]:
    return eval_id, 1


class _CountUnusedFn(CountingDoFn):
    def process(self, entry: tuple[str, int]) -> None:
        self.count("unused_cases", int(entry[1] == 0))


def count_unused_cases(cases: "PCollection[EvalCase]", used: "Sequence[PCollection[str]]") -> None:
    """Counts the eval cases that no conversation was held against; `used` are the ids from `MatchCases`."""
    given = cases | "GivenCases" >> beam.Map(_unused)
    tried = [ids | f"UsedCases{i}" >> beam.Map(_once) for i, ids in enumerate(used)]
    uses = [given, *tried] | "AllUses" >> beam.Flatten() | "UsesOfCase" >> beam.CombinePerKey(max)
    _ = uses | "CountUnusedCases" >> beam.ParDo(_CountUnusedFn())
