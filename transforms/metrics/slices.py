"""Slices: what divides the metrics of an app version."""

from collections.abc import Iterable, Sequence

from turnwise.transforms.matching.sample import Sample

TAG = "tag"
LANGUAGE = "language"


def slices_of(sample: Sample, wanted: Sequence[str]) -> dict[str, frozenset[int] | None]:
    """Returns the slices that a conversation belongs to, each with the turns that do.

    A label of an answer (`skipped:NO_RELEVANT_CONTENT`) is of its turn, every other tag of all turns.

    Args:
        sample: The conversation.
        wanted: The part before the colon of labels and tags; `tag`: every tag; `language`: the language.

    Returns:
        Name of a slice -> indices of its turns; None: all.
    """
    if not wanted:
        return {}
    turns = _labelled_turns(sample)
    found: dict[str, frozenset[int] | None] = {tag: None for tag in sample.tags}
    found |= {tag: frozenset(places) for tag, places in turns.items()}
    slices = {tag: places for tag, places in found.items() if is_wanted(tag, wanted)}
    language = sample.conversation.language
    return slices | {f"{LANGUAGE}:{language}": None} if LANGUAGE in wanted and language else slices


def _labelled_turns(sample: Sample) -> dict[str, list[int]]:
    turns: dict[str, list[int]] = {}
    for pair in sample.pairs:
        answer = pair.actual.grounded if pair.actual is not None else None
        for tag in answer.tags if answer is not None else ():
            turns.setdefault(tag, []).append(pair.index)
    return turns


def is_wanted(tag: str, wanted: Iterable[str]) -> bool:
    """Returns whether a tag is a slice, given the dimensions that are wanted."""
    return TAG in wanted or (":" in tag and tag.partition(":")[0] in wanted)
