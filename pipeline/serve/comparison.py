"""Two app versions beside each other."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from sqlalchemy import Connection, select

from pipeline.serve.errors import ServiceError, invalid, refused_field
from pipeline.serve.evaluations import filter_conditions
from pipeline.serve.lists import next_token, read_paging
from pipeline.serve.service import Service
from pipeline.store.pages import Position
from pipeline.store.results import EvaluationFigures, version_id
from pipeline.store.tables import EVALUATIONS, key_text
from schemas.ces.names import checked_name
from schemas.ces.tools import CompareAppVersionsRequest
from schemas.values import JsonObject
from transforms.aggregates import Sums, VersionSums, add_sums, aggregated_metrics
from transforms.statistics import wilson_interval

_NONE = VersionSums(0, 0, {})
_RANKS: dict[str, int] = {"REGRESSED": 1, "IMPROVED": 2}


class _Pair(NamedTuple):
    """The results of one evaluation in both versions."""

    evaluation: str
    base: VersionSums
    candidate: VersionSums

    @property
    def change(self) -> Literal["REGRESSED", "IMPROVED", "unchanged", "onlyBase", "onlyCandidate", ""]:
        base, candidate = _decided(self.base), _decided(self.candidate)
        if not base or not candidate:
            return "onlyBase" if base else "onlyCandidate" if candidate else ""
        # Shares are compared without dividing.
        before, after = self.base.passes * candidate, self.candidate.passes * base
        return "unchanged" if before == after else "REGRESSED" if after < before else "IMPROVED"


def _decided(sums: VersionSums) -> int:
    return sums.passes + sums.fails


def compare_app_versions(service: Service, request: CompareAppVersionsRequest) -> JsonObject:
    """Returns the figures of two versions, and the evaluations that changed: the regressed ones first."""
    with refused_field("parent"):
        app = checked_name("app", request.parent)
    versions = [
        _version(field, text)
        for field, text in (
            ("baseVersion", request.base_version),
            ("candidateVersion", request.candidate_version),
        )
    ]
    paging = read_paging(
        request.page_size, request.page_token, "comparison", app, *versions, request.evaluation_filter
    )
    conditions = filter_conditions(app, request.evaluation_filter)

    def work(connection: Connection) -> tuple[dict[str, EvaluationFigures], dict[str, str]]:
        names = select(EVALUATIONS.c.name, EVALUATIONS.c.display_name).where(
            EVALUATIONS.c.app == app, *conditions
        )
        found = {name: display_name for name, display_name in connection.execute(names)}
        figures = service.cache.read(connection, app)
        return {name: own for name, own in figures.items() if name in found or not conditions}, found

    figures, display_names = service.store.read(work)
    _check_versions(figures, versions)
    pairs = [
        _Pair(name, *(own.versions.get(version, _NONE) for version in versions))
        for name, own in sorted(figures.items())
    ]
    changes = [pair for pair in pairs if pair.change in _RANKS]
    changes.sort(key=_place)
    after = paging.after
    left = [pair for pair in changes if after is None or _place(pair) > after]
    page, rest = left[: paging.size], left[paging.size :]
    return {
        "base": _summary(figures, versions[0]),
        "candidate": _summary(figures, versions[1]),
        **({"changes": [_change(pair, display_names) for pair in page]} if page else {}),
        **_counts(pairs),
        **next_token(paging, _place(page[-1]) if rest else None),
    }


def _version(field: str, text: str) -> str:
    if not text:
        raise invalid(field, "is required: the name or id of an app version")
    return key_text(version_id(text))


def _check_versions(figures: Mapping[str, EvaluationFigures], versions: list[str]) -> None:
    known = sorted({version for own in figures.values() for version in own.versions} - {""})
    for version in versions:
        if version not in known:
            there_are = ", ".join(known[:20]) or "none"
            raise ServiceError(
                "NOT_FOUND", f"no result of version {version!r}; there are results of: {there_are}"
            )


def _place(pair: _Pair) -> Position:
    return Position(_RANKS[pair.change], pair.evaluation)


def _counts(pairs: list[_Pair]) -> JsonObject:
    changes: list[str] = [pair.change for pair in pairs]
    kinds = ("REGRESSED", "IMPROVED", "unchanged", "onlyBase", "onlyCandidate")
    names = ("regressedCount", "improvedCount", "unchangedCount", "onlyBaseCount", "onlyCandidateCount")
    counts = {name: changes.count(kind) for name, kind in zip(names, kinds, strict=True)}
    return {name: count for name, count in counts.items() if count}


def _change(pair: _Pair, display_names: Mapping[str, str]) -> JsonObject:
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


def _summary(figures: Mapping[str, EvaluationFigures], version: str) -> JsonObject:
    own = [found for found in figures.values() if version in found.versions]
    sums: Sums = {}
    for found in own:
        add_sums(sums, found.versions[version].sums)
    passes = sum(found.versions[version].passes for found in own)
    fails = sum(found.versions[version].fails for found in own)
    undecided = sum(found.undecided.get(version, 0) for found in own)
    counts = {
        "evaluationCount": len(own),
        "passCount": passes,
        "failCount": fails,
        "undecidedCount": undecided,
    }
    message: JsonObject = {"appVersionId": version, **{name: n for name, n in counts.items() if n}}
    interval = wilson_interval(passes, passes + fails)
    if interval is not None:
        rates = {
            "passRate": passes / (passes + fails),
            "passRateLow": interval.low,
            "passRateHigh": interval.high,
        }
        message |= rates
    metrics = aggregated_metrics({version: VersionSums(passes, fails, sums)})
    return message | {"metrics": metrics["metricsByAppVersion"][0]}
