"""Sums over the results of one run, and of several runs together."""

import json
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from sqlalchemy import Connection, select

from turnwise.pipeline.store.results import COMPLETED, EvaluationFigures
from turnwise.pipeline.store.tables import RESULTS
from turnwise.transforms.ces.aggregates import VersionSums
from turnwise.transforms.metrics.state import Sums, add_parts

_COLUMNS = (
    *("evaluation", "version_id", "conversation_id", "update_nanos"),
    *("evaluation_status", "execution_state", "parts"),
)


class ResultGroup(msgspec.Struct, array_like=True, gc=False):
    """The results of one evaluation and app version in one run.

    Attributes:
        conversations: Ids of their conversations.
        oldest: When the first one was written, nanoseconds since 1970; `newest`: the last one.
        completed: Number of completed results; the other numbers are of these.
        sums: Turn, kind and tool with their pair of sums.
    """

    evaluation: str
    version: str
    conversations: list[str]
    oldest: int
    newest: int
    completed: int = 0
    passes: int = 0
    fails: int = 0
    sums: list[tuple[int | None, str, str, int, int]] = []


def result_groups(connection: Connection, run: str) -> list[ResultGroup]:
    """Returns the results of a run by evaluation and app version."""
    query = select(*(RESULTS.c[name] for name in _COLUMNS)).where(RESULTS.c.evaluation_run == run)
    groups: dict[tuple[str, str], ResultGroup] = {}
    sums: dict[tuple[str, str], Sums] = {}
    for evaluation, version, conversation, nanos, status, state, parts in connection.execute(query):
        key = evaluation, version
        own = groups.setdefault(key, ResultGroup(evaluation, version, [], nanos, nanos))
        own.conversations.append(conversation)
        own.oldest, own.newest = min(nanos, own.oldest), max(nanos, own.newest)
        if state == COMPLETED:
            own.completed += 1
            own.passes += status == "PASS"
            own.fails += status == "FAIL"
            read = (((turn, kind, tool), a, b) for (turn, kind, tool), a, b in json.loads(parts))
            add_parts(sums.setdefault(key, {}), read)
    for key, own in groups.items():
        own.sums = [(*where, a, b) for where, (a, b) in sums.get(key, {}).items()]
    return list(groups.values())


def figures_of(runs: Mapping[str, Sequence[ResultGroup]]) -> dict[str, EvaluationFigures | None]:
    """Returns evaluation -> sums over the results of several runs, as `read_figures` does.

    Args:
        runs: Name of a run -> its results.

    Returns:
        The sums; None: some results of a group do not count, so that the rows must be read.
    """
    by_evaluation: dict[str, dict[str, list[ResultGroup]]] = {}
    names: dict[str, list[str]] = {}
    for run, groups in runs.items():
        for group in groups:
            by_evaluation.setdefault(group.evaluation, {}).setdefault(group.version, []).append(group)
            names.setdefault(group.evaluation, []).append(run)
    return {name: _figures(names[name], versions) for name, versions in by_evaluation.items()}


def _figures(runs: Sequence[str], versions: Mapping[str, list[ResultGroup]]) -> EvaluationFigures | None:
    found: dict[str, VersionSums] = {}
    undecided: dict[str, int] = {}
    for version, groups in versions.items():
        counted = _counted(groups)
        if counted is None:
            return None
        if any(own.completed for own in counted):
            found[version] = _summed(counted)
            left = sum(own.completed for own in counted) - found[version].passes - found[version].fails
            undecided |= {version: left} if left else {}
    return EvaluationFigures(found, undecided, sorted({*runs} - {""}))


def _counted(groups: list[ResultGroup]) -> list[ResultGroup] | None:
    """Returns the groups that count: each conversation only in its last run; None: parts of groups do."""
    if len(groups) == 1:
        return groups
    seen: set[str] = set()
    found, oldest = [], None
    for own in sorted(groups, key=lambda group: group.newest, reverse=True):
        conversations = {*own.conversations}
        again = conversations & seen
        if again and (len(again) < len(conversations) or oldest is None or own.newest >= oldest):
            return None
        if not again:
            found.append(own)
        seen |= conversations
        oldest = own.oldest if oldest is None else min(oldest, own.oldest)
    return found


def _summed(groups: Iterable[ResultGroup]) -> VersionSums:
    sums: Sums = {}
    passes = fails = 0
    for own in groups:
        passes, fails = passes + own.passes, fails + own.fails
        add_parts(sums, (((turn, kind, tool), a, b) for turn, kind, tool, a, b in own.sums))
    return VersionSums(passes, fails, sums)
