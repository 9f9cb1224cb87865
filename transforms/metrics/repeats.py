"""pass^k and pass@k: how reliably repeated runs of a case pass."""

from collections.abc import Iterable, Iterator, Sequence
from math import fsum

from msgspec import Struct, field

from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import Outcome
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.statistics.tests import wilson_interval

MOST_CASES = 10_000
MOST_RUNS = 100
_Runs = tuple[int, int]


class Repeats(Struct):
    """Sums over the runs of the cases of one app version; two of them add up.

    Attributes:
        cases: Key of a case -> criterion -> decided runs, and how many of them passed.
        is_full: There were more than 10,000 cases: nothing is kept, so that memory is bounded. In whatever
            order sums are added up, they are full exactly if all together are too many.
    """

    cases: dict[str, dict[str, _Runs]] = field(default_factory=dict)
    is_full: bool = False

    def add(self, case: str, outcomes: Iterable[tuple[str, Outcome | None]]) -> None:
        """Counts one run of a case, by criterion; a run without a verdict does not count."""
        if not self.is_full:
            decided = {name: (1, int(o == "PASS")) for name, o in outcomes if o in ("PASS", "FAIL")}
            self._add_runs(case, decided)

    def merge(self, other: "Repeats", sign: int = 1) -> None:
        """Adds the runs of other conversations, or takes them back (`sign` -1); what becomes 0 goes."""
        if other.is_full:
            self._give_up()
        for case, runs in other.cases.items():
            if not self.is_full:
                self._add_runs(case, runs, sign)

    def _add_runs(self, case: str, runs: dict[str, _Runs], sign: int = 1) -> None:
        counts = self.cases.setdefault(case, {})
        for name, (count, passes) in runs.items():
            before = counts.pop(name, (0, 0))
            after = before[0] + sign * count, before[1] + sign * passes
            if any(after):
                counts[name] = after
        if not counts:
            del self.cases[case]
        if len(self.cases) > MOST_CASES:
            self._give_up()

    def _give_up(self) -> None:
        self.cases, self.is_full = {}, True

    def figures(self, criterion: str) -> JsonObject | None:
        """Returns pass^k and pass@k for every k up to the largest number of runs, 100 at most.

        Of the cases, those with at least k decided runs count.

        Returns:
            `cases`, `runs` (the smallest number of decided runs of a case), `pass_hat_k` and `pass_at_k`,
            lists of `{k, cases, value, low, high}`; None: no run of a named case was decided.
        """
        runs = [counts[criterion] for counts in self.cases.values() if criterion in counts]
        if not runs:
            return None
        largest = min(max(count for count, _ in runs), MOST_RUNS)
        hat = _means([list(_all_pass(*run, largest)) for run in runs], largest)
        missed = _means([list(_all_pass(count, count - passes, largest)) for count, passes in runs], largest)
        return {
            "cases": len(runs),
            "runs": min(count for count, _ in runs),
            "pass_hat_k": [_figure(k, value, cases) for k, (value, cases) in enumerate(hat, 1)],
            "pass_at_k": [_figure(k, 1.0 - value, cases) for k, (value, cases) in enumerate(missed, 1)],
        }


def _all_pass(count: int, passes: int, largest: int) -> Iterator[float]:
    """Yields, for k = 1, 2, ..., C(passes, k) / C(count, k): the share of choices of k runs that all pass.

    The last k is the number of runs, or `largest`.
    """
    share = 1.0
    for i in range(min(count, largest)):
        share *= max(0, passes - i) / (count - i)
        yield share


def _means(by_case: list[list[float]], largest: int) -> list[tuple[float, int]]:
    """Returns, for k = 1, 2, ..., the mean over the cases that have k runs, and how many these are."""
    by_k: list[list[float]] = [[] for _ in range(largest)]
    for values in by_case:
        for i, value in enumerate(values):
            by_k[i].append(value)
    # Rounded once: the same in whatever order workers add up their cases.
    return [(fsum(values) / len(values), len(values)) for values in by_k]


def _figure(k: int, value: float, cases: int) -> JsonObject:
    """Returns a mean over cases with its 95 % Wilson interval, in which every case is one trial.

    Runs of one case are not independent, cases are. A case's share lies between 0 and 1, so it varies no more
    than a trial of the same mean: the interval is on the safe side, also for few cases and means of 0 and 1.
    """
    value = min(1.0, max(0.0, value))
    interval = wilson_interval(value * cases, cases)
    low, high = interval or (0.0, 1.0)
    return {"k": k, "cases": cases, "value": value, "low": low, "high": high}


# Slices: what divides the metrics of an app version.

TAG = "tag"
LANGUAGE = "language"
AGENT = "agent"


def slices_of(sample: Sample, wanted: Sequence[str]) -> dict[str, frozenset[int] | None]:
    """Returns the slices that a conversation belongs to, each with the turns that do.

    A label of an answer (`skipped:NO_RELEVANT_CONTENT`) is of its turn, every other tag of all turns.

    Args:
        sample: The conversation.
        wanted: The part before the colon of labels and tags; `tag`: every tag; `language`: the language;
            `agent`: the agents that spoke, called or took over, each of the turns in which it did.

    Returns:
        Name of a slice -> indices of its turns; None: all.
    """
    if not wanted:
        return {}
    turns: dict[str, list[int]] = {}
    for pair in sample.pairs:
        answer = pair.actual.grounded if pair.actual is not None else None
        of_turn = answer.tags if answer is not None else []
        if AGENT in wanted and pair.actual is not None:
            of_turn = [*of_turn, *(f"{AGENT}:{name}" for name in pair.actual.agents)]
        for label in of_turn:
            turns.setdefault(label, []).append(pair.index)
    labels: dict[str, frozenset[int] | None] = {tag: None for tag in sample.tags}
    labels |= {tag: frozenset(places) for tag, places in turns.items()}
    slices = {tag: places for tag, places in labels.items() if is_wanted(tag, wanted)}
    language = sample.conversation.language
    return slices | {f"{LANGUAGE}:{language}": None} if LANGUAGE in wanted and language else slices


def is_wanted(tag: str, wanted: Iterable[str]) -> bool:
    """Returns whether a tag is a slice, given the dimensions that are wanted."""
    return TAG in wanted or (":" in tag and tag.partition(":")[0] in wanted)
