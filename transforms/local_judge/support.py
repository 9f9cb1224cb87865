"""Whether sources support sentences, by the local judge, within bounds of time."""

from collections.abc import Sequence
from typing import NamedTuple

from turnwise.transforms.local_judge.grounding import GroundingVerdict, ground

MAX_QUESTIONS = 1_000
"""So many sentences are held against sources at once."""
MAX_READ = 1_000_000
"""Characters of the sources that are read for that."""


class TooMuch(Exception):
    """What was to be judged is too large; the message says what, in one line."""


class SupportQuestion(NamedTuple):
    """A sentence, and the sources that are to support it."""

    sentence: str
    sources: tuple[str, ...]


def supported(questions: Sequence[SupportQuestion]) -> list[GroundingVerdict]:
    """Holds every sentence against its own sources.

    Returns:
        One verdict a question, in order.

    Raises:
        TooMuch: There is more to read than the bounds allow.
    """
    if len(questions) > MAX_QUESTIONS:
        raise TooMuch(f"{len(questions)} sentences and sources; the local judge compares {MAX_QUESTIONS}")
    places: dict[tuple[str, ...], list[int]] = {}
    for i, question in enumerate(questions):
        places.setdefault(question.sources, []).append(i)
    size = sum(len(source) for sources in places for source in sources)
    if size > MAX_READ:
        raise TooMuch(f"sources of {size} characters; the local judge reads {MAX_READ}")
    verdicts: dict[int, GroundingVerdict] = {}
    for sources, indices in places.items():
        found = ground([questions[i].sentence for i in indices], sources)
        verdicts.update(zip(indices, found, strict=True))
    return [verdicts[i] for i in range(len(questions))]
