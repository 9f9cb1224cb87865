"""Sums over the results of one run, and of several runs together."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import msgspec
import numpy as np
from sqlalchemy import Connection, select

from turnwise.pipeline.store.results import COMPLETED, EvaluationFigures
from turnwise.pipeline.store.tables import RESULTS
from turnwise.transforms.ces.aggregates import VersionSums
from turnwise.transforms.comparison.runs import Integers
from turnwise.transforms.metrics.state import SumKey, Sums, add_parts

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
        sums: Place in the `parts` of the run, with a pair of sums.
    """

    evaluation: str
    version: str
    results: int
    oldest: int
    newest: int
    completed: int = 0
    passes: int = 0
    fails: int = 0
    sums: list[tuple[int, int, int]] = []


class RunFigures(msgspec.Struct, frozen=True, array_like=True):
    """The results of a run, by evaluation and app version.

    Attributes:
        groups: The groups.
        members: Numbers of the conversations of the results, those of a group together.
        parts: Turn, kind and tool of sums.
    """

    groups: list[ResultGroup]
    members: Integers
    parts: list[tuple[int | None, str, str]]


class _Counted(NamedTuple):
    """A group, the numbers of its conversations, and the parts of its run."""

    group: ResultGroup
    members: Integers
    parts: Sequence[SumKey]


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
    places: dict[SumKey, int] = {}
    for key, found in sums.items():
        groups[key].sums = [(places.setdefault(part, len(places)), a, b) for part, (a, b) in found.items()]
    listed = np.asarray([*chain.from_iterable(members.values())], np.int64)
    return RunFigures([*groups.values()], listed, [*places])


def figures_of(runs: Mapping[str, RunFigures]) -> dict[str, EvaluationFigures | None]:
    """Returns evaluation -> sums over the results of several runs, as `read_figures` does.

    Args:
        runs: Name of a run -> its results; a conversation has the same number in all of them.

    Returns:
        The sums; None: some results of a group do not count, so that the rows must be read.
    """
    by_evaluation: dict[str, dict[str, list[_Counted]]] = {}
    names: dict[str, list[str]] = {}
    for run, figures in runs.items():
        end = 0
        for group in figures.groups:
            start, end = end, end + group.results
            own = _Counted(group, figures.members[start:end], figures.parts)
            by_evaluation.setdefault(group.evaluation, {}).setdefault(group.version, []).append(own)
            names.setdefault(group.evaluation, []).append(run)
    return {name: _figures(names[name], versions) for name, versions in by_evaluation.items()}


def _figures(runs: Sequence[str], versions: Mapping[str, list[_Counted]]) -> EvaluationFigures | None:
    found: dict[str, VersionSums] = {}
    undecided: dict[str, int] = {}
    for version, groups in versions.items():
        counted = _counted(groups)
        if counted is None:
            return None
        if any(own.group.completed for own in counted):
            found[version] = _summed(counted)
            left = sum(own.group.completed for own in counted) - found[version].passes - found[version].fails
            undecided |= {version: left} if left else {}
    return EvaluationFigures(found, undecided, sorted({*runs} - {""}))


def _counted(groups: list[_Counted]) -> list[_Counted] | None:
    """Returns the groups that count: each conversation only in its last run; None: parts of groups do."""
    members = np.concatenate([own.members for own in groups])
    if len(np.unique(members)) == len(members):
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


def _summed(groups: Iterable[_Counted]) -> VersionSums:
    sums: Sums = {}
    passes = fails = 0
    for own, _, parts in groups:
        passes, fails = passes + own.passes, fails + own.fails
        add_parts(sums, ((parts[place], a, b) for place, a, b in own.sums))
    return VersionSums(passes, fails, sums)
