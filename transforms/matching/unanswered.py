"""Conversations whose log stops before the agent answered."""

from turnwise.schemas.conversation import ExpectedTurn, Turn
from turnwise.transforms.matching.sample import Sample, TurnPair

_RATING = "reward"


def unanswered_end(sample: Sample) -> str | None:
    """Returns why the log of a conversation may stop too early: its last turn has no answer.

    None: it has one, or none is due. None is due where the log says how the conversation ended or rates the
    whole of it (`labels.reward`), and where the case states what it expects of that turn, and no words.
    """
    conversation = sample.conversation
    last = conversation.turns[-1] if conversation.turns else None
    if last is None or _answers(last):
        return None
    if conversation.ended or conversation.ended_detail or conversation.labels.get(_RATING) is not None:
        return None
    pair = next((pair for pair in reversed(sample.pairs) if pair.actual is last), None)
    if pair is not None and _expects_no_words(pair):
        return None
    place = last.turn_index
    return f"turn {place}: the last turn has no answer, and the log does not say how the conversation ended"


def _answers(turn: Turn) -> bool:
    """Returns whether the agent gave anything that may be an answer; media that is not read may be one."""
    is_worded = turn.agent and not turn.agent.isspace()
    return bool(is_worded or turn.payloads or turn.grounded is not None or turn.unknown_words)


def _expects_no_words(pair: TurnPair) -> bool:
    expected = pair.expected
    if expected is None or pair.actual is None:
        return False
    if pair.actual.expected is None and expected == ExpectedTurn():
        return False
    if expected.response or expected.intermediate_responses or expected.rubrics:
        return False
    return not any(expectation.kind == "agent_response" for expectation in expected.expectations)
