"""Where it goes wrong: outcomes by language, tag, tool and length, and which of them stand out."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from turnwise.schemas.report import Slice, SliceFigure
from turnwise.schemas.rows import ConversationRow
from turnwise.transforms.decisions.report.collect import CollectedRuns, Entry, VersionKey, turns_of
from turnwise.transforms.scoring.evaluate import STATUS
from turnwise.transforms.statistics.power import detectable_of_groups
from turnwise.transforms.statistics.tests import benjamini_hochberg, exact_p

FALSE_DISCOVERY_RATE = 0.1
_MOST_SLICES = 60
_BUCKETS = ((1, "1"), (3, "2 to 3"), (6, "4 to 6"), (10, "7 to 10"))
_PLACE = {"PASS": 0, "FAIL": 1, None: 2}


class _Sides(NamedTuple):
    """Passes and numbers of two groups of conversations."""

    passes: int
    size: int
    base_passes: int
    base_size: int

    @property
    def is_complete(self) -> bool:
        return self.size > 0 and self.base_size > 0

    @property
    def difference(self) -> float:
        return self.passes / self.size - self.base_passes / self.base_size

    @property
    def variance(self) -> float:
        """Variance of the difference; half a pass and half a failure are added to each group."""
        return _variance(self.passes, self.size) + _variance(self.base_passes, self.base_size)

    @property
    def detectable(self) -> float | None:
        return _detectable(self.passes + self.base_passes, self.size, self.base_size)


@lru_cache(maxsize=4096)
def _detectable(passes: int, size: int, base_size: int) -> float | None:
    return detectable_of_groups(passes / (size + base_size), (size, base_size))


def _variance(passes: int, count: int) -> float:
    share = (passes + 0.5) / (count + 1)
    return share * (1 - share) / count


SliceKey = tuple[str, str]
"""Kind and value of a slice."""
CriterionOfVersion = tuple[str, VersionKey]
"""Criterion and version."""
_CellKey = tuple[SliceKey, CriterionOfVersion]
OutcomeCounts = dict[CriterionOfVersion, list[int]]
"""Passed, failed, not scored."""


def outcomes(entry: Entry) -> dict[str, str | None]:
    """Returns criterion -> outcome of a conversation: its own, or else FAIL if one of its turns fails.

    None: without a value. Criteria without a threshold are left out.
    """
    found: dict[str, str | None] = {}
    by_turn: dict[str, set[str | None]] = {}
    for score in entry.own_scores:
        outcome = score.get("outcome")
        if outcome not in _PLACE or (outcome is None and "value" in score):
            continue
        if "turn_index" in score:
            by_turn.setdefault(score["criterion"], set()).add(outcome)
        else:
            found[score["criterion"]] = outcome
    for name, seen in by_turn.items():
        if name not in found:
            found[name] = "FAIL" if "FAIL" in seen else None if None in seen else "PASS"
    return {STATUS: entry.row["verdict"], **found}


def slices_of(row: ConversationRow) -> Iterator[SliceKey]:
    """Yields the slices that a conversation belongs to."""
    if row["language"]:
        yield "language", row["language"]
    yield from (("tag", tag) for tag in dict.fromkeys(row["tags"]))
    tools = (call.get("name") for turn in turns_of(row) for call in turn.get("tool_calls") or ())
    yield from (("tool", name) for name in dict.fromkeys(tools) if name)
    turns = row["turns"]
    if turns:
        yield "turns", next((text for most, text in _BUCKETS if turns <= most), "over 10")


def slices(collected: CollectedRuns) -> list[Slice]:
    """Returns the slices that do not hold every conversation, the largest first within their kind."""
    sizes: Counter[SliceKey] = Counter()
    counts: dict[SliceKey, OutcomeCounts] = {}
    totals: OutcomeCounts = {}
    for entry in collected.entries:
        found = outcomes(entry)
        _add(totals, entry.version, found)
        for key in slices_of(entry.row):
            sizes[key] += 1
            _add(counts.setdefault(key, {}), entry.version, found)
    partial = [(key, size) for key, size in sizes.most_common() if size < len(collected.entries)]
    chosen = sorted(partial[:_MOST_SLICES], key=lambda one: (one[0][0], -one[1], one[0][1]))
    cells = {(key, place): own for key, _ in chosen for place, own in counts[key].items()}
    figures = _figures(cells, totals)
    return [
        Slice(*key, size, _by_criterion(key, counts[key], figures, collected.versions))
        for key, size in chosen
    ]


def _add(counts: OutcomeCounts, version: VersionKey, found: dict[str, str | None]) -> None:
    for name, outcome in found.items():
        counts.setdefault((name, version), [0, 0, 0])[_PLACE[outcome]] += 1


def _by_criterion(
    key: SliceKey,
    counts: OutcomeCounts,
    figures: dict[_CellKey, SliceFigure],
    versions: Sequence[VersionKey],
) -> dict[str, list[SliceFigure | None]]:
    names = dict.fromkeys(name for name, _ in counts)
    return {name: [figures.get((key, (name, version))) for version in versions] for name in names}


def _figures(cells: dict[_CellKey, list[int]], totals: OutcomeCounts) -> dict[_CellKey, SliceFigure]:
    """Compares every slice with the rest of its version, and corrects for the number of slices by version."""
    sides = {key: _sides(own, totals[key[1]]) for key, own in cells.items()}
    complete = {key: side for key, side in sides.items() if side.is_complete}
    found = {key: SliceFigure(*_three(own)) for key, own in cells.items()}
    for version in {place[1] for _, place in complete}:
        keys = [key for key in complete if key[1][1] == version]
        adjusted = benjamini_hochberg([exact_p(*complete[key]) for key in keys])
        shrunk = _shrunk({key: complete[key] for key in keys})
        for key, p in zip(keys, adjusted, strict=True):
            side, stands_out = complete[key], p < FALSE_DISCOVERY_RATE
            found[key] = SliceFigure(
                *_three(cells[key]), side.difference, shrunk[key], stands_out, side.detectable
            )
    return found


def _three(counts: Sequence[int]) -> tuple[int, int, int]:
    return counts[0], counts[1], counts[2]


def _sides(own: Sequence[int], total: Sequence[int]) -> _Sides:
    passed, failed = own[:2]
    passed_rest, failed_rest = total[0] - passed, total[1] - failed
    return _Sides(passed, passed + failed, passed_rest, passed_rest + failed_rest)


def _shrunk(
    sides: dict[_CellKey, _Sides],
) -> dict[_CellKey, float]:
    found: dict[_CellKey, float] = {}
    for name in {place[0] for _, place in sides}:
        keys = [key for key in sides if key[1][0] == name]
        drawn = shrink([sides[k].difference for k in keys], [sides[k].variance for k in keys])
        found |= dict(zip(keys, drawn, strict=True))
    return found


def shrink(differences: Sequence[float], variances: Sequence[float]) -> list[float]:
    """Draws differences towards their weighted mean, the more the less certain each is.

    The variance between them is that of DerSimonian and Laird 1986, Meta-analysis in clinical trials.

    Args:
        differences: The differences.
        variances: Their variances, above 0.
    """
    weights = [1 / variance for variance in variances]
    total = sum(weights)
    mean = _dot(weights, differences) / total
    excess = sum(w * (d - mean) ** 2 for w, d in zip(weights, differences, strict=True)) - len(weights) + 1
    scale = total - sum(weight**2 for weight in weights) / total
    between = max(0.0, excess / scale) if scale > 0 else 0.0
    return [mean + (d - mean) * between / (between + v) for d, v in zip(differences, variances, strict=True)]


def _dot(left: Iterable[float], right: Iterable[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))
