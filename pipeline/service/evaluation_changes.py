"""Tells the evaluations whose share of passed results differs between two sides."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from turnwise.pipeline.service.lists import Paging, next_token
from turnwise.pipeline.store.database import Position
from turnwise.schemas.jsonio import JsonObject

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
