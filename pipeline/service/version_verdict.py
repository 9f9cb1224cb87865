"""Says of the verdicts of two app versions what `turnwise compare` says."""

from collections.abc import Mapping

from turnwise.pipeline.store.results import EvaluationFigures
from turnwise.schemas.difference import Undecided
from turnwise.schemas.values import JsonObject
from turnwise.transforms.ces.aggregates import VersionSums
from turnwise.transforms.comparison.compare import CompareOptions, setup_of
from turnwise.transforms.comparison.verdicts import VerdictCounts, compare_verdicts

_NONE = VersionSums(0, 0, {})


def version_verdict(figures: Mapping[str, EvaluationFigures], base: str, candidate: str) -> JsonObject:
    """Returns the VersionVerdict of two versions in proto3 JSON; an evaluation is a case.

    Args:
        figures: Evaluation -> its figures.
        base: Id of the base version.
        candidate: Id of the candidate.
    """
    cases = {name: (_counts(own, base), _counts(own, candidate)) for name, own in figures.items()}
    setup = setup_of(CompareOptions(), {run for own in figures.values() for run in own.runs})
    verdicts = compare_verdicts(cases, setup, (base, candidate))
    found = verdicts.overall
    message: JsonObject = {"word": found.word, "sentence": verdicts.sentence}
    numbers = {
        "pairCount": found.pairs or None,
        "difference": found.difference,
        "differenceLow": found.interval.low if found.interval else None,
        "differenceHigh": found.interval.high if found.interval else None,
        "pValue": found.p,
        "detectableDifference": found.detectable,
        "neededPairCount": None if found.pairs_needed is None else min(found.pairs_needed, 2**31 - 1),
    }
    message |= {name: number for name, number in numbers.items() if number is not None}
    return message | (_undecided(verdicts.undecided) if verdicts.undecided else {})


def _undecided(undecided: Undecided) -> JsonObject:
    readings = {"wordIfUndecidedFail": undecided.worst_for_b, "wordIfUndecidedPass": undecided.best_for_b}
    return {name: reading.word for name, reading in readings.items() if reading is not None}


def _counts(figures: EvaluationFigures, version: str) -> VerdictCounts:
    sums = figures.versions.get(version, _NONE)
    return VerdictCounts(sums.passes, sums.fails, figures.undecided.get(version, 0))
