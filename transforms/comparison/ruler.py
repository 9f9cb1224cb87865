"""Finds what measured the two sides of a comparison differently."""

from collections.abc import Iterator, Mapping, Sequence

from turnwise.schemas.comparison import RulerChange
from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json
from turnwise.schemas.run import RunDocument
from turnwise.transforms.comparison.applied import applied_thresholds
from turnwise.transforms.comparison.side import ComparedSide
from turnwise.transforms.scoring.evaluate import STATUS

_CHANGE_NO_SCORE = {
    "alerts",
    "criteria",
    "gate",
    "judge",
    "live_model_config",
    "slices",
    "user_simulator_config",
}
"""Keys of the config that change no score, or are looked at in detail; the others concern every criterion."""
_JUDGE_KEYS = ("generation_config",)
_LONGEST = 60
SAMPLE_RATE = "sample_rate"
"""The share of conversations that are judged: it changes how many are measured, not how."""


def ruler_changes(a: ComparedSide, b: ComparedSide) -> list[RulerChange]:
    """Returns what is not the same for both sides, as far as it concerns criteria that both have."""
    found = list(_judges(a, b))
    if a.document is not None and b.document is not None:
        found += _verdict(a.document, b.document)
        found += _settings(a.document, b.document, sorted(a.rulers.keys() & b.rulers.keys()))
        return found
    return [*found, *applied_thresholds(a.conversations, b.conversations)]


def beyond_verdicts(changes: Sequence[RulerChange]) -> list[RulerChange]:
    """Returns the changes that concern more than the verdicts."""
    return [change for change in changes if change.criteria != [STATUS]]


def _verdict(a: RunDocument, b: RunDocument) -> Iterator[RulerChange]:
    """Yields a change if the verdicts are not decided by the same criteria."""
    own, other = (
        sorted(name for name, settings in document.criteria.items() if settings.get("threshold") is not None)
        for document in (a, b)
    )
    if own != other:
        before, after = (", ".join(names) or "none" for names in (own, other))
        yield RulerChange(what="criteria of the verdict", a=before, b=after, criteria=[STATUS])


def _judges(a: ComparedSide, b: ComparedSide) -> Iterator[RulerChange]:
    """Yields changes of the judge's model or prompt, by what stands in the scores."""
    changes: dict[tuple[str, str], list[str]] = {}
    for criterion in sorted(a.rulers.keys() & b.rulers.keys()):
        own, other = a.rulers[criterion], b.rulers[criterion]
        if own and other and own != other:
            changes.setdefault((_listed(own), _listed(other)), []).append(criterion)
    for (before, after), criteria in changes.items():
        yield RulerChange(what="judge model, prompt version", a=before, b=after, criteria=criteria)


def _listed(names: set[str]) -> str:
    return "; ".join(sorted(names))


def _settings(a: RunDocument, b: RunDocument, judged: Sequence[str]) -> Iterator[RulerChange]:
    common = sorted(a.criteria.keys() & b.criteria.keys())
    for criterion in common:
        for path, before, after in _differences(a.criteria[criterion], b.criteria[criterion]):
            if path != SAMPLE_RATE:
                yield _change(f"criteria.{criterion}.{path}", before, after, [criterion])
    own, other = (
        {key: value for key, value in document.config.items() if key not in _CHANGE_NO_SCORE}
        for document in (a, b)
    )
    for path, before, after in _differences(own, other):
        yield _change(path, before, after, common)
    used = [criterion for criterion in judged if criterion in common]
    if not used:
        return
    own, other = ({key: _judge(document).get(key) for key in _JUDGE_KEYS} for document in (a, b))
    for path, before, after in _differences(own, other):
        yield _change(f"judge.{path}", before, after, used)


def _judge(document: RunDocument) -> JsonObject:
    return document.config.get("judge") or {}


def _differences(a: JsonValue, b: JsonValue, path: str = "") -> Iterator[tuple[str, JsonValue, JsonValue]]:
    """Yields the paths at which two JSON values differ."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in sorted({*a, *b}):
            yield from _differences(a.get(key), b.get(key), f"{path}.{key}" if path else str(key))
    elif a != b:
        yield path, a, b


def _change(what: str, a: JsonValue, b: JsonValue, criteria: Sequence[str]) -> RulerChange:
    return RulerChange(what=what, a=_shown(a), b=_shown(b), criteria=list(criteria))


def _shown(value: JsonValue) -> str:
    text = "not set" if value is None else dump_json(value).decode()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
