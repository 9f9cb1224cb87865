"""What a criterion gave a conversation, and a conversation of a comparison."""

from typing import NamedTuple

from msgspec import Struct, field


class TurnScore(NamedTuple):
    """One score of a turn.

    Attributes:
        turn_index: 0-based.
        value: None: unscored.
        outcome: PASS, FAIL, SKIPPED or None.
    """

    turn_index: int
    value: float | None
    outcome: str | None


class Observed(Struct):
    """What one criterion gave one conversation.

    Attributes:
        value: Score of the whole conversation; without one, the mean of its turns; None: unscored.
        outcome: PASS or FAIL; None: undecided, or the criterion has no threshold.
        threshold: Applied threshold; None: there is none.
        why: Why it fails, or is undecided.
        turn_index: The turn that this is said of; None: the whole conversation.
        turns: Scores of the turns.
        voted: Verdicts of a judge with two votes or more.
        flipped: Those of them whose votes are not all the same.
        is_summed: Whether the conversation has no score of its own, so that all this is of its turns.
    """

    value: float | None = None
    outcome: str | None = None
    threshold: float | None = None
    why: str | None = None
    turn_index: int | None = None
    turns: list[TurnScore] = field(default_factory=list)
    voted: int = 0
    flipped: int = 0
    is_summed: bool = False


class ComparedConversation(Struct):
    """One conversation of a side.

    Attributes:
        conversation_id: Its id.
        app_version: Version of the agent; None: unknown.
        eval_id: Id of its eval case; None: there is none.
        task: What it is a run of where no case is named; None: not known.
        case_digest: Digest of what is expected; "": nothing; None: not known.
        language: Its language.
        tags: Its tags and those of its case.
        criteria: Criterion -> what it gave; a criterion that does not apply is left out. The verdict is
            `evaluation_status`.
        skipped: Criteria that were skipped for the whole conversation.
        sampled_out: Criteria that a sample rate left out, and `evaluation_status` if the verdict is open for
            that; they are not in `criteria`.
    """

    conversation_id: str
    app_version: str | None = None
    eval_id: str | None = None
    task: str | None = None
    case_digest: str | None = None
    language: str | None = None
    tags: list[str] = field(default_factory=list)
    criteria: dict[str, Observed] = field(default_factory=dict)
    skipped: frozenset[str] = frozenset()
    sampled_out: frozenset[str] = frozenset()
