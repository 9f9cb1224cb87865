"""What a reader of a comparison must know before believing its figures."""

from collections import Counter
from collections.abc import Iterator, Sequence

from turnwise.schemas.comparison import RulerChange, Side
from turnwise.transforms.comparison.columns import ConversationColumns
from turnwise.transforms.comparison.pairing import Matched
from turnwise.transforms.comparison.ruler import SAMPLE_RATE
from turnwise.transforms.comparison.side import ComparedSide

_NAMES_SHOWN = 5


def comparison_notes(
    a: ComparedSide, b: ComparedSide, matched: Matched, changes: Sequence[RulerChange], left_out: int
) -> list[str]:
    """Returns the notes, one line each.

    Args:
        a: The base.
        b: The candidate.
        matched: Their conversations.
        changes: What measured them differently.
        left_out: Number of slices that were not compared.
    """
    return [
        *_pairing(a, b, matched),
        *(f"the ruler changed: {change.what}: {change.a} for A, {change.b} for B" for change in changes),
        *_same(a, b, matched),
        *_lost(a, b),
        *dict.fromkeys([*a.notes, *b.notes]),
        *_versions(a, b),
        *_sampling(a, b),
        *([f"{left_out} slices are not compared, because there are too many"] if left_out else []),
    ]


def _pairing(a: ComparedSide, b: ComparedSide, matched: Matched) -> Iterator[str]:
    pairing = matched.pairing
    if pairing.by == "nothing":
        yield (
            "no id is in both: two groups are compared, which sees less than pairs, and takes their cases to "
            "be alike"
        )
        return
    for side, only, unidentified in (
        (a, pairing.only_a, pairing.unidentified_a),
        (b, pairing.only_b, pairing.unidentified_b),
    ):
        if only:
            yield f"{_counted(only, 'case')} of {side.name} alone: not in the paired figures"
        if unidentified:
            yield f"{_counted(unidentified, 'conversation')} of {side.name} without {pairing.by}: left out"
    if pairing.changed:
        more = ", ..." if pairing.changed > _NAMES_SHOWN else ""
        yield (
            f"{_counted(pairing.changed, 'case')} left out, whose expectation is not the same in A and B: "
            f"{', '.join(pairing.changed_names[:_NAMES_SHOWN])}{more}"
        )
    sizes = zip(matched.cases_a.sizes.tolist(), matched.cases_b.sizes.tolist(), strict=True)
    uneven = [(own, other) for own, other in sizes if own != other]
    if uneven:
        runs = [sum(side) for side in zip(*uneven, strict=True)]
        yield (
            f"{_counted(len(uneven), 'case')} not run equally often: {runs[0]} runs in A, {runs[1]} in B; "
            "runs that are missing are not in the figures"
        )


def _same(a: ComparedSide, b: ComparedSide, matched: Matched) -> Iterator[str]:
    """Yields a note where both sides are the same recordings, or the same version."""
    versions = [{*side.conversations.app_versions.used()} for side in (a, b)]
    if versions[0] != versions[1]:
        return
    own, other = _identities(a.conversations), _identities(b.conversations)
    if own == other and matched.pairing.by != "nothing":
        yield "both sides are the same recordings: differences are those of the measurement, not of the agent"
        return
    if None in versions[0]:
        return
    if len(versions[0]) == 1:
        yield "both sides are the same app version: differences are chance, or changes outside the agent"
    else:
        yield (
            f"both sides are of the same {len(versions[0])} app versions: differences are chance, changes "
            "outside the agent, or other shares of the versions"
        )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _identities(conversations: ConversationColumns) -> set[tuple[str, str | None]]:
    return {*zip(conversations.conversation_ids, conversations.app_versions, strict=True)}


def run_places(a: ComparedSide | Side, b: ComparedSide | Side) -> list[str]:
    """Returns how texts call the runs of A, and those of B unless the same is said of them."""
    if a.run_ids == b.run_ids and (a.lost, list(a.problems)) == (b.lost, list(b.problems)):
        return [a.source]
    return [a.source, b.source] if a.source != b.source else [a.name, b.name]


def _lost(a: ComparedSide, b: ComparedSide) -> Iterator[str]:
    for side, place in zip((a, b), run_places(a, b), strict=False):
        if side.lost:
            yield f"{place}: records or conversations that were lost, not in the figures: {side.lost}"
        for problem in side.problems:
            yield f"{place}: {'the run failed: ' if side.document else ''}{problem}"
    places = [a.source, b.source] if a.source != b.source else [a.name, b.name]
    for side, place in zip((a, b), places, strict=True):
        for criterion, count in sorted(side.errors.items()):
            yield f"{place}: {_counted(count, 'error')} of {criterion}"


def _sampling(a: ComparedSide, b: ComparedSide) -> Iterator[str]:
    """Yields what sampling left out, and where the sample rates differ."""
    if a.document is not None and b.document is not None:
        own, other = a.document, b.document
        rates = [(SAMPLE_RATE, own.judge, other.judge)]
        for name in sorted(own.criteria.keys() & other.criteria.keys()):
            rates.append((f"criteria.{name}.{SAMPLE_RATE}", own.criteria[name], other.criteria[name]))
        for what, before, after in rates:
            if before.get(SAMPLE_RATE) != after.get(SAMPLE_RATE):
                yield f"{what}: {before.get(SAMPLE_RATE)} for A, {after.get(SAMPLE_RATE)} for B"
    for side in (a, b):
        found = Counter[str]()
        sampled_out = side.conversations.sampled_out
        for names, number in zip(sampled_out.values, sampled_out.counts().tolist(), strict=True):
            found.update(dict.fromkeys(names, number))
        for name, number in sorted((+found).items()):
            yield f"{side.name}: {_counted(number, 'conversation')} sampled out of {name}: not in its figures"


def _versions(a: ComparedSide, b: ComparedSide) -> Iterator[str]:
    if a.document is not None and b.document is not None:
        own, other = (side.document.versions.get("turnwise") for side in (a, b) if side.document)
        if own != other:
            yield f"A was scored by turnwise {own}, B by turnwise {other}"
