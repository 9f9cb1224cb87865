"""The table of criteria: figures by version, with intervals."""

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from turnwise.schemas.report import CriterionFigure, CriterionRow
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.decisions.report.collect import AnyRow, CollectedRuns, Entry, VersionKey
from turnwise.transforms.scoring.evaluate import STATUS
from turnwise.transforms.statistics.agreement import GroupSum, grouped_mean_interval, grouped_share_interval

_SHARE = (0.0, 1.0)
_MOST_TURNS = 50


class _Sum(Struct):
    """Scores of one criterion, one level and one version; values and outcomes by conversation."""

    unscored: int = 0
    passed: int = 0
    failed: int = 0
    values: dict[int, GroupSum] = field(default_factory=dict)
    outcomes: dict[int, GroupSum] = field(default_factory=dict)

    def add(
        self, value: float | None, outcome: str | None, special: Sequence[float], conversation: int
    ) -> None:
        if value is None:
            self.unscored += 1
        elif value not in special:
            _add(self.values, conversation, value)
        if outcome in ("PASS", "FAIL"):
            _add(self.outcomes, conversation, outcome == "PASS")
        self.passed += outcome == "PASS"
        self.failed += outcome == "FAIL"

    @property
    def scored(self) -> int:
        return sum(group.size for group in self.values.values())

    @property
    def mean(self) -> float | None:
        scored = self.scored
        return sum(group.total for group in self.values.values()) / scored if scored else None

    @property
    def share(self) -> float | None:
        decided = self.passed + self.failed
        return self.passed / decided if decided else None

    @property
    def shown(self) -> float | None:
        return self.mean if self.share is None else self.share


def _add(groups: dict[int, GroupSum], conversation: int, value: float) -> None:
    known = groups.get(conversation, _EMPTY)
    groups[conversation] = GroupSum(known.size + 1, known.total + value)


_EMPTY = GroupSum(0, 0.0)
CriterionSums = dict[tuple[str, bool, VersionKey], _Sum]
"""(criterion, whether it is of whole conversations, version) -> sum."""


def criterion_rows(collected: CollectedRuns) -> list[CriterionRow]:
    """Returns the rows of the table: verdicts first, then the criteria in the order of their scores."""
    sums, turns = _sums(collected.entries), _sums_by_turn(collected.entries)
    errors = _errors(collected.failures)
    names = dict.fromkeys([STATUS, *(name for name, _, _ in sums)])
    return [_row(name, collected, sums, turns, errors) for name in names]


def _sums(entries: Iterable[Entry]) -> CriterionSums:
    sums: CriterionSums = {}
    for place, entry in enumerate(entries):
        verdict = entry.row["verdict"]
        value = {"PASS": 1.0, "FAIL": 0.0}.get(verdict or "")
        sums.setdefault((STATUS, True, entry.version), _Sum()).add(value, verdict, (), place)
        for score in entry.scores:
            key = (score["criterion"], "turn_index" not in score, entry.version)
            sums.setdefault(key, _Sum()).add(*_value(score), place)
    return sums


def _value(score: AnyRow) -> tuple[float | None, str | None, Sequence[float]]:
    kind = CRITERIA.get(score["criterion"])
    return score.get("value"), score.get("outcome"), kind.special_values if kind else ()


def _sums_by_turn(entries: Iterable[Entry]) -> dict[tuple[str, VersionKey], dict[int, _Sum]]:
    sums: dict[tuple[str, VersionKey], dict[int, _Sum]] = {}
    for place, entry in enumerate(entries):
        for score in entry.scores:
            turn = score.get("turn_index")
            if turn is not None and 0 <= turn < _MOST_TURNS:
                own = sums.setdefault((score["criterion"], entry.version), {})
                own.setdefault(turn, _Sum()).add(*_value(score), place)
    return sums


def _errors(failures: Sequence[Sequence[AnyRow]]) -> Counter[tuple[str, VersionKey]]:
    return Counter(
        (row["criterion"], VersionKey(place, row.get("app_version") or ""))
        for place, rows in enumerate(failures)
        for row in rows
        if row.get("stage") == "score" and row.get("criterion")
    )


def _row(
    name: str,
    collected: CollectedRuns,
    sums: CriterionSums,
    turns: dict[tuple[str, VersionKey], dict[int, _Sum]],
    errors: Counter[tuple[str, VersionKey]],
) -> CriterionRow:
    is_whole = _shows_conversations(name, collected, sums)
    own = [sums.get((name, is_whole, version)) for version in collected.versions]
    has_outcomes = any(one is not None and one.share is not None for one in own)
    scale = _SHARE if has_outcomes else _scale(name)
    figures = [
        None
        if one is None
        else _figure(one, has_outcomes, scale, turns.get((name, version), {}), errors[name, version])
        for one, version in zip(own, collected.versions, strict=True)
    ]
    low, high = scale or (None, None)
    level = "conversation" if is_whole else "turn"
    return CriterionRow(name, collected.units.get(name, "score"), level, low, high, figures)


def _shows_conversations(name: str, collected: CollectedRuns, sums: CriterionSums) -> bool:
    """Scores are shown by conversation, latencies and counts by turn, as in the table of a run."""
    wanted = name == STATUS or _scale(name) is not None
    is_there = any((name, wanted, version) in sums for version in collected.versions)
    return wanted if is_there else not wanted


def _scale(name: str) -> tuple[float, float] | None:
    kind = CRITERIA.get(name)
    return kind.scale if kind else _SHARE


def _figure(
    own: _Sum, has_outcomes: bool, scale: tuple[float, float] | None, turns: dict[int, _Sum], errors: int
) -> CriterionFigure:
    groups = list((own.outcomes if has_outcomes else own.values).values())
    interval = grouped_share_interval(groups) if has_outcomes else grouped_mean_interval(groups, scale)
    low, high = interval or (None, None)
    by_turn = [
        (one.shown, one.scored + one.unscored)
        for one in (turns.get(i, _Sum()) for i in range(max(turns, default=-1) + 1))
    ]
    return CriterionFigure(
        count=own.scored + own.unscored,
        scored=own.scored,
        unscored=own.unscored,
        errors=errors,
        passed=own.passed,
        failed=own.failed,
        mean=own.mean,
        share=own.share,
        low=low,
        high=high,
        by_turn=by_turn,
    )
