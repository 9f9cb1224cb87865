"""Says of two app versions what `turnwise compare --store` says."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import Literal, NamedTuple

from sqlalchemy import Connection

from turnwise.pipeline.report.comparison import nothing_common, ruler_problem
from turnwise.pipeline.runs.store import SideKind, SideName, StoredRuns
from turnwise.pipeline.service.computed_fields import Paging, next_token
from turnwise.pipeline.service.serve import ServiceError
from turnwise.pipeline.store.database import LOCAL_APP, Position
from turnwise.pipeline.store.runs import RunsStamp, runs_stamp
from turnwise.schemas.comparison import Comparison, CriterionComparison, Side, Undecided
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.decisions.comparison.differences import CompareOptions, compare
from turnwise.transforms.decisions.comparison.sides import ComparedSide
from turnwise.transforms.scoring.evaluate import STATUS

_MOST = 2**31 - 1
_MOST_KEPT = 100


class ComparedPair(NamedTuple):
    """What is compared.

    Attributes:
        app: Name of the app.
        kind: Whether both are app versions or runs.
        base: Id of the base.
        candidate: Id of the candidate.
        evaluations: Names of the evaluations that count; None: all.
    """

    app: str
    kind: SideKind
    base: str
    candidate: str
    evaluations: frozenset[str] | None


class VerdictCache:
    """Caches verdicts until a run begins or ends."""

    def __init__(self) -> None:
        self._kept: dict[ComparedPair, tuple[RunsStamp, JsonObject]] = {}
        self._lock = Lock()

    def read(
        self, connection: Connection, pair: ComparedPair, source: str, runs: StoredRuns
    ) -> Callable[[], JsonObject]:
        """Reads what a verdict rests on.

        Returns:
            A function that returns the verdict; it needs no connection.

        Raises:
            ServiceError: A version has no results.
        """
        stamp = runs_stamp(connection, [pair.app, LOCAL_APP])
        before, verdict = self._kept.get(pair, (None, {}))
        if before == stamp:
            return lambda: verdict
        names = SideName(pair.base, pair.kind), SideName(pair.candidate, pair.kind)
        try:
            sides = runs.sides(names, source, pair.evaluations)
        except ConfigError as error:
            raise ServiceError("NOT_FOUND", str(error)) from None
        return lambda: self._keep(pair, stamp, version_verdict(*sides))

    def _keep(self, pair: ComparedPair, stamp: RunsStamp, verdict: JsonObject) -> JsonObject:
        with self._lock:
            self._kept.pop(pair, None)
            self._kept[pair] = stamp, verdict
            if len(self._kept) > _MOST_KEPT:
                del self._kept[next(iter(self._kept))]
        return verdict


def version_verdict(a: ComparedSide, b: ComparedSide) -> JsonObject:
    """Returns the VersionVerdict of base and candidate in proto3 JSON."""
    found = compare(a, b, CompareOptions(details=False))
    changed = ruler_problem(found.ruler)
    if changed:
        return {"refusal": f"{changed}; score one of them again"}
    nothing = nothing_common(found)
    return {"refusal": f"nothing to compare: {nothing}"} if nothing else _verdict(found)


def _verdict(found: Comparison) -> JsonObject:
    own = next((one for one in found.criteria if one.criterion == STATUS), None)
    pairing = found.pairing
    return _stated(
        {
            **({} if own is None else _difference(own)),
            "pairedBy": pairing.by,
            "changedCaseCount": pairing.changed,
            "changedCases": pairing.changed_names,
            "baseOnlyCaseCount": pairing.only_a,
            "candidateOnlyCaseCount": pairing.only_b,
            **_side("base", found.a),
            **_side("candidate", found.b),
            "criteria": [
                {"criterion": one.criterion, **_difference(one)} for one in found.criteria if one is not own
            ],
            "notCompared": [
                {"criterion": name, "reason": reason} for name, reason in found.not_compared.items()
            ],
            "notes": found.notes,
        }
    )


def _side(name: str, side: Side) -> JsonObject:
    counts = {"Conversation": side.conversations, "Undecided": side.undecided, "LostRecord": side.lost}
    return {f"{name}{what}Count": number for what, number in counts.items()} | {
        f"{name}Problems": side.problems
    }


def _difference(own: CriterionComparison) -> JsonObject:
    found, bounds = own.overall, own.overall.interval
    needed = found.pairs_needed
    return _stated(
        {
            "word": found.word,
            "sentence": own.sentence,
            "measure": own.measure,
            "unit": own.unit,
            "pairCount": found.pairs,
            "baseValue": found.value_a,
            "candidateValue": found.value_b,
            "difference": found.difference,
            "differenceLow": bounds.low if bounds else None,
            "differenceHigh": bounds.high if bounds else None,
            "pValue": own.p_adjusted,
            "gainedCount": own.gained,
            "lostCount": own.lost,
            "detectableDifference": found.detectable,
            "neededPairCount": None if needed is None else min(needed, _MOST),
            **(_undecided(own.undecided) if own.undecided else {}),
        }
    )


def _undecided(undecided: Undecided) -> JsonObject:
    readings = {"wordIfUndecidedFail": undecided.worst_for_b, "wordIfUndecidedPass": undecided.best_for_b}
    return {name: reading.word for name, reading in readings.items() if reading is not None}


def _stated(fields: JsonObject) -> JsonObject:
    """Leaves out what is not known, counts of 0 and empty lists."""
    is_count = ("Count", "Cases", "Problems", "criteria", "notCompared", "notes")
    return {
        name: value
        for name, value in fields.items()
        if value is not None and (value or not name.endswith(is_count))
    }


# Tells the evaluations whose share of passed results differs between two sides.

_RANKS: dict[str, int] = {"REGRESSED": 1, "IMPROVED": 2}


class Verdicts(NamedTuple):
    """Numbers of results of an evaluation that passed and that failed."""

    passes: int = 0
    fails: int = 0

    @property
    def decided(self) -> int:
        """Number of results with a verdict."""
        return self.passes + self.fails


class EvaluationPair(NamedTuple):
    """The verdicts of one evaluation on both sides."""

    evaluation: str
    base: Verdicts
    candidate: Verdicts

    @property
    def change(self) -> Literal["REGRESSED", "IMPROVED", "unchanged", "onlyBase", "onlyCandidate", ""]:
        """How the share of passed results changed; "": neither side has a verdict."""
        base, candidate = self.base.decided, self.candidate.decided
        if not base or not candidate:
            return "onlyBase" if base else "onlyCandidate" if candidate else ""
        # Shares are compared without dividing.
        before, after = self.base.passes * candidate, self.candidate.passes * base
        return "unchanged" if before == after else "REGRESSED" if after < before else "IMPROVED"


def changes_page(
    pairs: Iterable[EvaluationPair], display_names: Mapping[str, str], paging: Paging
) -> JsonObject:
    """Returns a page of the changed evaluations, regressed ones first, and the counts of all."""
    found = list(pairs)
    changes = sorted((pair for pair in found if pair.change in _RANKS), key=_place)
    left = [pair for pair in changes if paging.after is None or _place(pair) > paging.after]
    page = left[: paging.size]
    return {
        **({"changes": [_change(pair, display_names) for pair in page]} if page else {}),
        **_counts(found),
        **next_token(paging, _place(page[-1]) if len(left) > len(page) else None),
    }


def _place(pair: EvaluationPair) -> Position:
    return Position(_RANKS[pair.change], pair.evaluation)


def _counts(pairs: Sequence[EvaluationPair]) -> JsonObject:
    changes: list[str] = [pair.change for pair in pairs]
    kinds = ("REGRESSED", "IMPROVED", "unchanged", "onlyBase", "onlyCandidate")
    names = ("regressedCount", "improvedCount", "unchangedCount", "onlyBaseCount", "onlyCandidateCount")
    counts = {name: changes.count(kind) for name, kind in zip(names, kinds, strict=True)}
    return {name: count for name, count in counts.items() if count}


def _change(pair: EvaluationPair, display_names: Mapping[str, str]) -> JsonObject:
    counts = {
        "basePassCount": pair.base.passes,
        "baseFailCount": pair.base.fails,
        "candidatePassCount": pair.candidate.passes,
        "candidateFailCount": pair.candidate.fails,
    }
    return {
        "evaluation": pair.evaluation,
        **({"displayName": display_names[pair.evaluation]} if pair.evaluation in display_names else {}),
        "change": pair.change,
        **{name: count for name, count in counts.items() if count},
    }
