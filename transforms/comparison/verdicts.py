"""Compares numbers of verdicts by case, where single conversations are not at hand."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from turnwise.schemas.comparison import CriterionComparison
from turnwise.transforms.comparison.estimates import CaseValues, Estimate, Setup, paired_shares
from turnwise.transforms.comparison.measures import CriterionMeasure
from turnwise.transforms.comparison.sentences import sentence
from turnwise.transforms.comparison.undecided import Reader, lasting_word, read_three_ways
from turnwise.transforms.comparison.words import difference_of, word_for
from turnwise.transforms.scoring.verdict import STATUS

_VERDICTS = CriterionMeasure(STATUS, "pass_rate", (0.0, 1.0), "score", "more", True)


class VerdictCounts(NamedTuple):
    """Verdicts of the runs of one case."""

    passes: int = 0
    fails: int = 0
    undecided: int = 0

    def values(self, undecided: float | None) -> Sequence[float]:
        """Returns 1 for every pass, 0 for every fail, and `undecided` for the others if it is a number."""
        others = [] if undecided is None else [undecided] * self.undecided
        return [1.0] * self.passes + [0.0] * self.fails + others


def compare_verdicts(
    cases: Mapping[str, tuple[VerdictCounts, VerdictCounts]], setup: Setup, names: tuple[str, str]
) -> CriterionComparison:
    """Returns the comparison of the verdicts, as `compare` gives it.

    Args:
        cases: Case -> verdicts of A and of B.
        setup: What is asked for.
        names: How texts call A and B.
    """

    def filled(undecided: tuple[float | None, float | None]) -> Estimate:
        values = {
            case: (a.values(undecided[0]), b.values(undecided[1])) for case, (a, b) in sorted(cases.items())
        }
        both: CaseValues = {case: own for case, own in values.items() if all(own)}
        return paired_shares(both, setup)

    main = filled((None, None))
    counts = sum(a.undecided for a, _ in cases.values()), sum(b.undecided for _, b in cases.values())
    undecided = read_three_ways(counts, main, filled, Reader(_VERDICTS, setup))
    found = CriterionComparison(
        criterion=STATUS,
        measure="pass_rate",
        unit=_VERDICTS.unit,
        better_is="more",
        threshold=None,
        overall=difference_of(main, lasting_word(word_for(main, main.p, _VERDICTS, setup), undecided)),
        p_adjusted=main.p,
        mid_p=main.mid_p,
        effect=main.effect,
        effect_kind=main.effect_kind,
        gained=main.higher,
        lost=main.lower,
        undecided=undecided,
    )
    return msgspec.structs.replace(found, sentence=sentence(found, *names, "eval_id"))
