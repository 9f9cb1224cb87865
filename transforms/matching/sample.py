"""A conversation together with the case it is held against."""

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation, ExpectedTurn, Record, Turn
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.matching.alignment import align
from turnwise.transforms.matching.case_digest import case_digest
from turnwise.transforms.matching.expectations import (
    ExpectationOutcome,
    TurnReplay,
    agent_updates,
    replay_turn,
)
from turnwise.transforms.matching.scenario import scenario_outcomes

MISSING_TURN = "MISSING_TURN"
EXTRA_TURN = "EXTRA_TURN"


class TurnPair(msgspec.Struct):
    """A recorded turn beside the golden turn it is held against.

    Attributes:
        index: 0-based place in the alignment of the golden with the recording. It is the recorded turn's
            index unless the golden has turns that the recording lacks.
        expected: The golden turn; None: nothing is expected of this turn, or it is an extra one.
        actual: The recorded turn; None: it is missing.
        label: MISSING_TURN or EXTRA_TURN where the two sides do not have the same number of turns.

    >>> import turnwise
    >>> pair = turnwise.TurnPair(0, None, turnwise.Turn(user="Hi", agent="Hello"))
    >>> pair.actual.agent
    'Hello'
    """

    index: int
    expected: ExpectedTurn | None
    actual: Turn | None
    label: str | None = None


@dataclass
class Sample:
    """A sample: a conversation, its case (or none), and their paired turns.

    Attributes:
        record: The raw record, kept for failure rows.
        pairs: The turns side by side.
        evaluable: Those that can be scored.
        unanswered: The others; their answers failed or are not finished.
        has_answers: Whether a turn is an answer engine's.
        has_findings: Whether something of a turn may be wrong or not understood.
        has_gaps: Whether calls or words of a turn may be missing in the log, or not all that is expected
            is read or found.
        is_whole: Whether there are no gaps, every turn can be scored, and the agent spoke in the last one.
        tags: The tags of the conversation and those of its case, each once.
        run_of: The key of the case that the conversation is a run of; None: it has none that is named.

    >>> import turnwise
    >>> log = turnwise.Conversation(conversation_id="c1", turns=[turnwise.Turn(user="Hi", agent="Hello")])
    >>> [pair.index for pair in turnwise.Sample(log, None, turnwise.Record("log", 1, b"")).pairs]
    [0]
    """

    conversation: Conversation
    eval_case: EvalCase | None
    record: Record
    pairs: list[TurnPair] = field(init=False)
    evaluable: list[TurnPair] = field(init=False)
    unanswered: list[TurnPair] = field(init=False)
    has_answers: bool = field(init=False, default=False)
    has_findings: bool = field(init=False, default=False)
    has_gaps: bool = field(init=False, default=False)
    is_whole: bool = field(init=False)
    tags: list[str] = field(init=False)
    run_of: str | None = field(init=False, default=None)
    _replays: dict[int, TurnReplay] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        case, turns = self.eval_case, self.conversation.turns
        self.pairs = pair_turns(case.turns if case else [], turns)
        for turn in turns:
            if turn.grounded is not None:
                self.has_answers = self.has_findings = True
            if turn.findings:
                self.has_findings = True
            if turn.unknown_calls or turn.unknown_words:
                self.has_gaps = True
        if case is not None and (case.unread or case.not_found or any(turn.unread for turn in case.turns)):
            self.has_gaps = True
        self.evaluable, self.unanswered = self.pairs, []
        if self.has_answers:
            self.evaluable = [pair for pair in self.pairs if unanswered_state(pair) is None]
            self.unanswered = [pair for pair in self.pairs if unanswered_state(pair) is not None]
        last = turns[-1].agent if turns else None
        self.is_whole = not self.has_gaps and not self.unanswered and bool(last and not last.isspace())
        self.tags = self.conversation.tags
        if case is not None:
            self._add_case(case)

    def _add_case(self, case: EvalCase) -> None:
        if case.tags:
            self.tags = [*self.tags, *_others(case.tags, self.tags)]
        if stated_case(self.conversation) is not None:
            self.run_of = case.key.text

    @cached_property
    def case_digest(self) -> str | None:
        """The digest of what is expected; None: nothing is."""
        return case_digest(self.eval_case)

    @property
    def unit(self) -> str:
        """What intervals count once: the named case; without a name, what is expected after which words.

        Where nothing is expected, it is the conversation.
        """
        if self.run_of is not None:
            return self.run_of
        if self.case_digest is None:
            return f"\0{self.conversation.conversation_id}"
        said = [turn.user for turn in self.conversation.turns]
        return f"\0{self.case_digest}\0{msgspec.json.encode(said).decode()}"

    def replay(self, pair: TurnPair) -> TurnReplay:
        """Returns how a pair's golden turn was met, worked out once.

        Raises:
            ValueError: The conversation has no case.
        """
        replay = self._replays.get(pair.index)
        if replay is None:
            if self.eval_case is None:
                raise ValueError("the conversation is held against no case")
            expected = pair.expected or ExpectedTurn()
            updates = agent_updates(pair.actual) if expected.expectations else {}
            replay = self._replays[pair.index] = replay_turn(self.eval_case, expected, pair.actual, updates)
        return replay

    @cached_property
    def scenario_outcomes(self) -> list[ExpectationOutcome]:
        """Outcomes of a scenario's expectations; empty without any."""
        return (
            scenario_outcomes(self.eval_case, self.conversation)
            if self.eval_case and self.eval_case.expectations
            else []
        )

    def state_after(self, pair: TurnPair) -> JsonObject:
        """Returns the session variables that a pair's golden turn expects, as they are after the turn.

        Those whose changes the log does not show are left out.
        """
        state: JsonObject = {}
        for expectation in pair.expected.expectations if pair.expected else ():
            for name in expectation.variables or ():
                places, values = self._changes.get(name, ((), ()))
                found = bisect_right(places, pair.index)
                if found:
                    state[name] = values[found - 1]
        return state

    @cached_property
    def _changes(self) -> dict[str, tuple[list[int], list[JsonValue]]]:
        """Session variables -> indices of the pairs whose turns set them, and the values."""
        changes: dict[str, tuple[list[int], list[JsonValue]]] = {}
        for pair in self.pairs:
            for name, value in pair.actual.variables.items() if pair.actual else ():
                places, values = changes.setdefault(name, ([], []))
                places.append(pair.index)
                values.append(value)
        return changes


def _others(tags: list[str], known: list[str]) -> list[str]:
    """Returns the tags that are not among others."""
    names = set(known)
    return [tag for tag in tags if tag not in names]


def stated_case(conversation: Conversation) -> str | None:
    """Returns the id of a conversation's eval case; None: none is stated.

    Without `eval_id`, a trial (`meta.trial`) belongs to its task: `meta.task_id`, after `meta.domain` if
    given.
    """
    if "trial" not in conversation.meta:
        return conversation.eval_id
    return stated_task(conversation)


def stated_task(conversation: Conversation) -> str | None:
    """Returns what a conversation is a run of: its eval case, or else the task that its log names.

    The task is `meta.task_id`, after `meta.domain` if given. None: the log states neither.
    """
    meta = conversation.meta
    if conversation.eval_id is not None or meta.get("task_id") is None:
        return conversation.eval_id
    return "-".join(str(meta[key]) for key in ("domain", "task_id") if meta.get(key) is not None)


def unanswered_state(pair: TurnPair) -> str | None:
    """Returns the state of an answer that failed or is not finished; None: the turn can be scored."""
    answer = pair.actual.grounded if pair.actual is not None else None
    return None if answer is None or answer.is_evaluable else answer.state


def pair_turns(expected: list[ExpectedTurn], actual: list[Turn]) -> list[TurnPair]:
    """Puts golden and recorded turns side by side.

    With equal numbers, turn i stands beside turn i; otherwise the two are aligned by what was said and
    called. Without golden turns, every recorded turn stands alone.
    """
    if not expected:
        return [TurnPair(i, None, turn) for i, turn in enumerate(actual)]
    if len(expected) == len(actual):
        return [TurnPair(i, want, turn) for i, (want, turn) in enumerate(zip(expected, actual, strict=True))]
    return [_aligned_pair(i, expected, actual, *places) for i, places in enumerate(align(expected, actual))]


def _aligned_pair(
    index: int, expected: list[ExpectedTurn], actual: list[Turn], e: int | None, a: int | None
) -> TurnPair:
    label = MISSING_TURN if a is None else EXTRA_TURN if e is None else None
    return TurnPair(index, None if e is None else expected[e], None if a is None else actual[a], label)
