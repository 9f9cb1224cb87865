"""Adds up what a file holds."""

from collections.abc import Sequence

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation
from turnwise.schemas.inspection import CriterionUse, FileInspection, Noted
from turnwise.schemas.score import Failure
from turnwise.transforms.criteria.base import Criterion
from turnwise.transforms.formats.events import ConversationEvent
from turnwise.transforms.formats.reading import FoundCase, LoggedConversation, ReadRecord
from turnwise.transforms.inspection.example import case_example, conversation_example
from turnwise.transforms.inspection.trial import ORDER, try_criteria

MOST_KINDS = 20
"""Number of different messages that are kept of a file."""
_OTHERS = "others"
_TRIED, _TRIED_WITH_CASES = 50, 3


class FileCollector:
    """Adds up what one file holds; its size does not grow with the file.

    Attributes:
        inspection: The sums so far.
    """

    def __init__(self, path: str, criteria: Sequence[Criterion]) -> None:
        self.inspection = FileInspection(path)
        self._criteria = criteria
        self._uses: dict[str, CriterionUse] = {}

    def add_record(self, read: ReadRecord) -> None:
        """Adds what a record holds; an event counts as joined, its conversation comes later."""
        found = self.inspection
        found.records += 1
        found.formats[read.format or ""] = found.formats.get(read.format or "", 0) + 1
        for one in read.found:
            if isinstance(one, ConversationEvent):
                found.joined += 1
            elif isinstance(one, Failure):
                self.add_failure(one)
            elif isinstance(one, FoundCase):
                self._add_case(one.case)
            else:
                self.add_conversation(one)

    def add_failure(self, failure: Failure) -> None:
        """Adds what could not be read."""
        place = (failure.source or self.inspection.path, failure.position or 0)
        message = f"{failure.error_type}: {failure.message}"
        if failure.stage == "check":
            _note(
                self.inspection.findings,
                failure.error_type,
                Noted(failure.error_type, failure.message, 0, *place),
            )
            return
        _note(self.inspection.not_read, message, Noted(failure.error_type, failure.message, 0, *place))

    def _add_case(self, case: EvalCase) -> None:
        found = self.inspection
        found.cases += 1
        if found.example is None:
            found.example = case_example(case)

    def add_conversation(self, logged: LoggedConversation) -> None:
        """Adds a conversation, and tries the criteria on the first ones."""
        found, conversation = self.inspection, logged.conversation
        found.conversations += 1
        found.turns += len(conversation.turns)
        for turn in conversation.turns:
            found.calls += len(turn.tool_calls)
            found.results += len(turn.tool_responses)
        self._add_findings(logged)
        if found.example is None:
            found.example = conversation_example(conversation)
        if found.tried < _TRIED:
            self._try(conversation, logged)

    def _add_findings(self, logged: LoggedConversation) -> None:
        place = (logged.record.source, logged.record.position)
        for turn in logged.conversation.turns:
            for problem in turn.findings:
                message = f"turn {turn.turn_index}: {problem.message}"
                _note(self.inspection.findings, problem.kind, Noted(problem.kind, message, 0, *place))

    def _try(self, conversation: Conversation, logged: LoggedConversation) -> None:
        with_cases = self.inspection.tried < _TRIED_WITH_CASES
        self.inspection.tried += 1
        for name, trial in try_criteria(conversation, logged.record, self._criteria, with_cases).items():
            add_use(self._uses, CriterionUse(name, trial.applies, 1, trial.why))
        self.inspection.criteria = list(self._uses.values())


def add_use(uses: dict[str, CriterionUse], use: CriterionUse) -> None:
    """Adds a use of a criterion to others, in place: of different needs the least counts."""
    known = uses.get(use.criterion)
    if known is None or ORDER.index(use.applies) < ORDER.index(known.applies):
        uses[use.criterion] = CriterionUse(use.criterion, use.applies, use.conversations, use.why)
    elif use.applies == known.applies:
        known.conversations += use.conversations


def _note(notes: list[Noted], key: str, first: Noted) -> None:
    """Counts something under its message or kind."""
    is_kind = key == first.what
    known = next((n for n in notes if (n.what if is_kind else f"{n.what}: {n.message}") == key), None)
    if known is None and len(notes) > MOST_KINDS:
        known = notes[-1]
    elif known is None:
        known = first
        if len(notes) == MOST_KINDS:
            known = Noted(_OTHERS, first.message, 0, first.source, first.position)
        notes.append(known)
    known.count += 1
