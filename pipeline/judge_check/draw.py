"""Draws conversations that judged criteria ask about."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import heappush, heapreplace
from typing import NamedTuple

from turnwise.pipeline.api.collected import Collected
from turnwise.pipeline.python.inputs import sort_inputs
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.scoring.selection import Selection, hash_place
from turnwise.transforms.tools.judge_check import AskedQuestions, CheckedQuestion, questions_about


class Drawn(NamedTuple):
    """A sample of conversations.

    Attributes:
        questions: What is asked about them; the same question of a criterion stands once.
        conversations: Number of conversations.
        errors: Criterion -> how often it failed with an error about them.
        records_lost: Records and conversations that could not be read, parsed or matched.
    """

    questions: list[CheckedQuestion]
    conversations: int
    errors: dict[str, int]
    records_lost: int


class _DrawnConversation(NamedTuple):
    """A conversation of the sample; the first two decide which goes when another one comes."""

    minus_place: float
    minus_number: int
    found: AskedQuestions


def draw(settings: RunSettings, size: int, seed: int) -> Drawn:
    """Draws conversations about which something is asked, by a hash of seed, id and app version.

    Args:
        settings: What is read, and by which criteria.
        size: Number of conversations at most.
        seed: Another seed draws others.

    Raises:
        ConfigError: A path names nothing.
    """
    collected = Collected(settings)
    logs = sort_inputs("--input", settings.input, Conversation)
    cases = sort_inputs("--eval_cases", settings.eval_cases, EvalCase) if settings.eval_cases else None
    kept = asyncio.run(_kept(collected.samples(logs, cases), settings.selection, size, seed))
    lost = sum(row["stage"] != "check" for row in collected.result({}).failures)
    errors = Counter(failure.criterion or "" for each in kept for failure in each.found.failures)
    return Drawn(_unique(kept), len(kept), dict(errors), lost)


async def _kept(
    samples: Iterable[Sample], selection: Selection, size: int, seed: int
) -> list[_DrawnConversation]:
    """Returns the conversations with the lowest hashes, lowest first."""
    heap: list[_DrawnConversation] = []
    for number, sample in enumerate(samples):
        conversation = sample.conversation
        named = f"{seed}\0{conversation.conversation_id}\0{conversation.app_version or ''}"
        place = hash_place(named)
        if len(heap) == size and place >= -heap[0].minus_place:
            continue
        found = await questions_about(sample, selection.of(sample).asked)
        if found.questions or found.failures:
            add = heappush if len(heap) < size else heapreplace
            add(heap, _DrawnConversation(-place, -number, found))
    return sorted(heap, reverse=True)


def _unique(kept: Sequence[_DrawnConversation]) -> list[CheckedQuestion]:
    seen: dict[object, CheckedQuestion] = {}
    for place, each in enumerate(kept):
        for name, asked in each.found.questions.items():
            for question in asked:
                seen.setdefault((name, question.prompt), CheckedQuestion(name, place, question))
    return list(seen.values())
