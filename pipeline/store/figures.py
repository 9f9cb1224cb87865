"""Sums over the results of one run, and of several runs together."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import msgspec
import numpy as np
from sqlalchemy import Connection, select

from turnwise.pipeline.store.database import RESULTS
from turnwise.pipeline.store.results import COMPLETED, EvaluationFigures
from turnwise.transforms.ces.judgements import VersionSums
from turnwise.transforms.decisions.comparison.sentences import Integers
from turnwise.transforms.decisions.comparison.sides import coded
from turnwise.transforms.metrics.state import SumPart, Sums, add_parts

_COLUMNS = (
    *("evaluation", "version_id", "conversation_id", "update_nanos"),
    *("evaluation_status", "execution_state", "parts"),
)


class ResultGroup(msgspec.Struct, array_like=True, gc=False):
    """The results of one evaluation and app version in one run.

    Attributes:
        results: Number of results.
        oldest: When the first one was written, nanoseconds since 1970; `newest`: the last one.
        completed: Number of completed results; the other numbers are of these.
        sums: Number of their sums.
    """

    evaluation: str
    version: str
    results: int
    oldest: int
    newest: int
    completed: int = 0
    passes: int = 0
    fails: int = 0
    sums: int = 0


class RunFigures(msgspec.Struct, frozen=True, array_like=True):
    """The results of a run, by evaluation and app version.

    Attributes:
        groups: The groups.
        members: Numbers of the conversations of the results, those of a group together.
        parts: Turn, kind and tool of sums.
        summed: Place in `parts` of every sum of a group, those of a group together.
        firsts: The first number of each sum; `seconds`: the second one.
    """

    groups: list[ResultGroup]
    members: Integers
    parts: list[tuple[int | None, str, str]]
    summed: Integers
    firsts: list[int]
    seconds: list[int]

    def by_group(self) -> Iterator["GroupFigures"]:
        """Yields the groups with what is theirs."""
        members = sums = 0
        places = self.summed.tolist()
        for group in self.groups:
            own, of_sums = slice(members, members + group.results), slice(sums, sums + group.sums)
            parts = [self.parts[place] for place in places[of_sums]]
            pairs = [*zip(parts, self.firsts[of_sums], self.seconds[of_sums], strict=True)]
            yield GroupFigures(group, self.members[own], pairs)
            members, sums = own.stop, of_sums.stop


class GroupFigures(NamedTuple):
    """A group, the numbers of its conversations, and its sums."""

    group: ResultGroup
    members: Integers
    sums: list[SumPart]


def run_figures(connection: Connection, run: str, numbers: Mapping[str, int]) -> RunFigures:
    """Returns the results of a run.

    Args:
        connection: Connection to the store.
        run: Name of the run.
        numbers: The number of every conversation id.
    """
    query = select(*(RESULTS.c[name] for name in _COLUMNS)).where(RESULTS.c.evaluation_run == run)
    groups: dict[tuple[str, str], ResultGroup] = {}
    members: dict[tuple[str, str], list[int]] = {}
    sums: dict[tuple[str, str], Sums] = {}
    for evaluation, version, conversation, nanos, status, state, parts in connection.execute(query):
        key = evaluation, version
        own = groups.setdefault(key, ResultGroup(evaluation, version, 0, nanos, nanos))
        members.setdefault(key, []).append(numbers[conversation])
        own.results += 1
        own.oldest, own.newest = min(nanos, own.oldest), max(nanos, own.newest)
        if state == COMPLETED:
            own.completed += 1
            own.passes += status == "PASS"
            own.fails += status == "FAIL"
            read = (((turn, kind, tool), a, b) for (turn, kind, tool), a, b in json.loads(parts))
            add_parts(sums.setdefault(key, {}), read)
    for key, found in sums.items():
        groups[key].sums = len(found)
    parts = coded(part for key in groups for part in sums.get(key, ()))
    pairs = [pair for key in groups for pair in sums.get(key, {}).values()]
    listed = np.asarray([*chain.from_iterable(members.values())], np.int64)
    firsts, seconds = [a for a, _ in pairs], [b for _, b in pairs]
    return RunFigures([*groups.values()], listed, parts.values, parts.places, firsts, seconds)


def figures_of(runs: Mapping[str, RunFigures]) -> dict[str, EvaluationFigures | None]:
    """Returns evaluation -> sums over the results of several runs, as `read_figures` does.

    Args:
        runs: Name of a run -> its results; a conversation has the same number in all of them.

    Returns:
        The sums; None: some results of a group do not count, so that the rows must be read.
    """
    by_evaluation: dict[str, dict[str, list[GroupFigures]]] = {}
    names: dict[str, list[str]] = {}
    for run, figures in runs.items():
        for own in figures.by_group():
            by_evaluation.setdefault(own.group.evaluation, {}).setdefault(own.group.version, []).append(own)
            names.setdefault(own.group.evaluation, []).append(run)
    has_again = _has_again(runs.values())
    return {name: _figures(names[name], versions, has_again) for name, versions in by_evaluation.items()}


def _has_again(runs: Iterable[RunFigures]) -> bool:
    """Returns whether a conversation is in several runs."""
    members = [own.members for own in runs]
    found = np.zeros(1 + max((int(own.max(initial=0)) for own in members), default=0), np.int64)
    for own in members:
        found[own] += 1  # once, also where a number is repeated
    return bool((found > 1).any())


def _figures(
    runs: Sequence[str], versions: Mapping[str, list[GroupFigures]], has_again: bool
) -> EvaluationFigures | None:
    found: dict[str, VersionSums] = {}
    undecided: dict[str, int] = {}
    for version, groups in versions.items():
        counted = _counted(groups) if has_again else groups
        if counted is None:
            return None
        if any(own.group.completed for own in counted):
            found[version] = _summed(counted)
            left = sum(own.group.completed for own in counted) - found[version].passes - found[version].fails
            undecided |= {version: left} if left else {}
    return EvaluationFigures(found, undecided, sorted({*runs} - {""}))


def _counted(groups: list[GroupFigures]) -> list[GroupFigures] | None:
    """Returns the groups that count: each conversation only in its last run; None: parts of groups do."""
    if len(groups) == 1:
        return groups
    seen: set[int] = set()
    found, oldest = [], None
    for own in sorted(groups, key=lambda one: one.group.newest, reverse=True):
        conversations = {*own.members.tolist()}
        again = conversations & seen
        if again and (len(again) < len(conversations) or oldest is None or own.group.newest >= oldest):
            return None
        if not again:
            found.append(own)
        seen |= conversations
        oldest = own.group.oldest if oldest is None else min(oldest, own.group.oldest)
    return found


def _summed(groups: Iterable[GroupFigures]) -> VersionSums:
    sums: Sums = {}
    passes = fails = 0
    for own, _, own_sums in groups:
        passes, fails = passes + own.passes, fails + own.fails
        add_parts(sums, own_sums)
    return VersionSums(passes, fails, sums)
