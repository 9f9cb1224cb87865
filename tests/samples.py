"""Samples of conversations, and what a measured criterion says of them."""

from turnwise.schemas.conversation import Conversation, Record, ToolCall
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.scoring.evaluate import evaluate
from turnwise.transforms.scoring.selection import Criteria


def calls(text):
    """`a b:1` -> a call of a without arguments, a call of b with {"x": 1}."""
    words = (word.partition(":") for word in text.split())
    return [ToolCall(name=name, args={"x": int(value)} if value else None) for name, _, value in words]


def sample_of(case, *turns, **fields):
    """Puts turns beside a case; `fields` are those of the conversation."""
    conversation = Conversation(**{"conversation_id": "c", "turns": list(turns), **fields})
    return Sample(conversation, case, Record("f", 1, b"{}"))


def score_conversation(sample, criteria):
    """Scores a conversation by measured criteria."""
    return evaluate(sample, Criteria(criteria))[0]


def scores_of(criterion, case, *turns, **fields):
    """Scores turns beside a case by one criterion; nothing may have been raised."""
    found = score_conversation(sample_of(case, *turns, **fields), [criterion])
    assert {failure.stage for failure in found.failures} <= {"check"}
    return found.scores[0]
