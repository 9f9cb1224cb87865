"""Checks with the local judge whether sources support sentences, within bounds of size."""

from collections.abc import Sequence
from typing import NamedTuple

from turnwise.transforms.local_judge.grounding import GroundingVerdict, ground

MAX_QUESTIONS = 1_000
"""Maximum number of sentences per call."""
MAX_READ = 1_000_000
"""Maximum number of characters of all sources per call."""


class TooLargeError(Exception):
    """The input of the local judge is too large; one line that states what exceeds the limit."""


class SupportQuestion(NamedTuple):
    """A sentence and its sources."""

    sentence: str
    sources: tuple[str, ...]


def supported(questions: Sequence[SupportQuestion]) -> list[GroundingVerdict]:
    """Compares every sentence with its own sources.

    Returns:
        One verdict per question, in order.

    Raises:
        TooLargeError: There are too many sentences or characters.
    """
    if len(questions) > MAX_QUESTIONS:
        raise TooLargeError(
            f"{len(questions)} sentences and sources; the local judge compares {MAX_QUESTIONS}"
        )
    places: dict[tuple[str, ...], list[int]] = {}
    for i, question in enumerate(questions):
        places.setdefault(question.sources, []).append(i)
    size = sum(len(source) for sources in places for source in sources)
    if size > MAX_READ:
        raise TooLargeError(f"sources of {size} characters; the local judge reads {MAX_READ}")
    verdicts: dict[int, GroundingVerdict] = {}
    for sources, indices in places.items():
        found = ground([questions[i].sentence for i in indices], sources)
        verdicts.update(zip(indices, found, strict=True))
    return [verdicts[i] for i in range(len(questions))]
