"""Runs as the service tells them: lists, trends, conversations; and the state that all of it shares."""

import json
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from math import inf
from typing import Any, NamedTuple, get_args

from sqlalchemy import ColumnElement, Connection, Row, RowMapping, Table, exists, literal, or_, select, tuple_

from turnwise.pipeline.runs.store import version_key
from turnwise.pipeline.service.computed_fields import (
    FiguresCache,
    OrderBy,
    Position,
    next_token,
    read_filter,
    read_order,
    read_paging,
    stated,
)
from turnwise.pipeline.service.serve import ServiceError, checked, invalid, not_found
from turnwise.pipeline.store import rows as stored_rows
from turnwise.pipeline.store import runs as stored_runs
from turnwise.pipeline.store.database import (
    CONVERSATIONS,
    FAILURES,
    LOCAL_APP,
    RESULTS,
    RUNS,
    Store,
    key_text,
    run_name,
)
from turnwise.pipeline.store.summaries import filter_fields
from turnwise.pipeline.store.urls import Broken
from turnwise.schemas.ces import tools
from turnwise.schemas.comparison import Bounds
from turnwise.schemas.config import STATUS
from turnwise.schemas.jsonio import JsonObject, counted
from turnwise.schemas.proto.scalars import nanos_timestamp
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.review.problems import MOST_READ, one_line
from turnwise.transforms.statistics.tests import SampleMoments, mean_interval

# The state that both interfaces of the service, MCP and REST, share.


class Service:
    """A store, and what a request may do with it.

    The functions of `evaluations`, `runs` and `comparison` take a service and a request and return the
    response in canonical proto3 JSON. They raise ServiceError if they refuse the request (it is invalid, or
    what it names is not there), and StoreError if the store does not answer.

    Attributes:
        actor: Name of the server's user, for the history.
    """

    def __init__(self, store: Store, actor: str, read_only: bool = False) -> None:
        self.store, self.actor, self.read_only = store, actor, read_only
        self.cache = FiguresCache()

    def of(self, may_write: bool) -> "Service":
        """Returns the service for a request, with the same store and caches."""
        if may_write:
            return self
        service = copy(self)
        service.read_only = True
        return service

    def check_writable(self) -> None:
        """Raises ServiceError if changes are refused."""
        if self.read_only:
            raise ServiceError("PERMISSION_DENIED", "the server, or the token of the request, only reads")


RUN_COLUMNS = [column.name for column in RUNS.c if column.name != "content"]
"""What `run_summaries` reads."""
_ABORTED, _INTERNAL = 10, 13


def list_evaluation_runs(
    service: Service, request: tools.ListEvaluationRunsRequest, as_summaries: bool = False
) -> JsonObject:
    """Returns a page of the runs of an app: without the names of their results, or as turnwise tells them."""
    app, tell = checked("app", request.parent), run_summaries if as_summaries else _run_values
    conditions = [RUNS.c.app == app, *read_filter("filter", request.filter, filter_fields(app)["runs"])]
    listing = Listing(app, RUNS, RUN_COLUMNS, conditions, read_order(request.order_by))
    identity = ("runs", app, request.filter, request.order_by)

    def runs(connection: Connection, rows: Sequence[Row[Any]]) -> list[JsonObject]:
        return tell(connection, app, [row._mapping for row in rows])

    return listed(service, request, "evaluationRuns", listing, runs, *identity)


_TIMES = {"create_time": "create_nanos", "update_time": "update_nanos"}


class Listing(NamedTuple):
    """A query: columns, beside those of the order, of the rows of a table that meet all conditions."""

    app: str
    table: Table
    columns: Sequence[str]
    conditions: Sequence[ColumnElement[bool]]
    order_by: OrderBy


def listed(
    service: Service,
    request: Any,
    key: str,
    listing: Listing,
    entries: Callable[[Connection, Sequence[Row[Any]]], list[JsonObject]],
    *identity: str,
) -> JsonObject:
    """Returns a page of a list: `entries` of its rows under a key; `identity` tells it from other lists.

    Pages are found by keyset pagination: times are sorted newest first, names alphabetically.
    """
    paging = read_paging(request.page_size, request.page_token, *identity)
    table, after = listing.table, paging.after
    time = None if listing.order_by == "name" else table.c[_TIMES[listing.order_by]]
    wanted = dict.fromkeys(("name", *listing.columns, *(() if time is None else (time.name,))))
    query = select(*(table.c[name] for name in wanted)).where(*listing.conditions)
    # Both columns have the same direction, so that an index can be read backwards.
    query = query.order_by(*([table.c.name] if time is None else [time.desc(), table.c.name.desc()]))
    if after is not None:
        last_read = tuple_(literal(after.nanos), literal(after.name))
        query = query.where(
            table.c.name > after.name if time is None else tuple_(time, table.c.name) < last_read
        )

    def work(connection: Connection) -> JsonObject:
        rows, end = connection.execute(query.limit(paging.size + 1)).all(), None
        is_empty = all(getattr(row, "app", listing.app) != listing.app for row in rows)
        if is_empty and (problem := stored_runs.unknown_app(connection, listing.app)):
            raise ServiceError("NOT_FOUND", problem)
        if len(rows) > paging.size:
            rows = rows[: paging.size]
            end = Position(0 if time is None else getattr(rows[-1], time.name), rows[-1].name)
        values = entries(connection, rows)
        return ({key: values} if values else {}) | next_token(paging, end)

    return service.store.read(work)


def get_evaluation_run(service: Service, request: tools.GetEvaluationRunRequest) -> JsonObject:
    """Returns a run with the names of its results and its counts by evaluation."""

    def work(connection: Connection) -> JsonObject:
        row = find_run(connection, request.name)
        counted = stored_runs.count_by_evaluation(connection, row["name"], row["execution"])
        of_run = RESULTS.c.evaluation_run == row["name"]
        names = connection.execute(select(RESULTS.c.name).where(of_run).order_by(RESULTS.c.name)).scalars()
        return _run_values(connection, row["app"], [row])[0] | {
            "evaluationResults": list(names),
            "evaluations": sorted(counted),
            "evaluationRunSummaries": {key: stated(counts) for key, counts in sorted(counted.items())},
        }

    return service.store.read(work)


def find_run(connection: Connection, name: str) -> RowMapping:
    """Returns the columns `RUN_COLUMNS` of a run; raises ServiceError if there is none of that name."""
    checked("run", name, "name")
    query = select(*(RUNS.c[column] for column in RUN_COLUMNS)).where(RUNS.c.name == key_text(name))
    row = connection.execute(query).mappings().first()
    if row is None:
        raise not_found(name)
    return row


def _run_values(connection: Connection, app: str, rows: Sequence[RowMapping]) -> list[JsonObject]:
    """Returns EvaluationRuns in proto3 JSON; what was rejected has no result and counts as an error."""
    values = []
    for row, counts, rejected in stored_runs.counts_of_runs(connection, app, rows):
        progress = {
            "totalCount": counts["results"] + rejected,
            "errorCount": rejected,
            "completedCount": counts["results"],
            "passedCount": counts["passes"],
            "failedCount": counts["fails"],
        }
        versions = json.loads(counts["app_versions"])
        value = {
            "name": row["name"],
            "displayName": row["run_id"],
            **({"createTime": nanos_timestamp(row["create_nanos"])} if row["create_nanos"] else {}),
            **({"appVersion": versions[0]} if len(versions) == 1 and versions[0] else {}),
            "state": row["state"],
            "progress": stated(progress),
        }
        if row["error"]:
            value["error"] = {"code": _INTERNAL, "message": row["error"]}
        elif row["repeat_state"] in get_args(Broken):
            # A later execution broke off.
            value["error"] = {"code": _ABORTED, "message": stored_runs.RunState.of(row).sentence()}
        values.append(value)
    return values


def run_summaries(connection: Connection, app: str, rows: Sequence[RowMapping]) -> list[JsonObject]:
    """Returns the RunSummary of runs in an app, or without one, in proto3 JSON."""
    summaries = []
    for row, counts, rejected in stored_runs.counts_of_runs(connection, app, rows):
        known = {
            **{name: value for name, value in row.items() if name in tools.RunSummary.model_fields},
            **{
                f"{name}_time": nanos_timestamp(row[f"{name}_nanos"])
                for name in ("create", "update", "end", "repeat")
                if row[f"{name}_nanos"]
            },
            "criteria": json.loads(row["criteria"] or "[]"),
            "app_versions": [version for version in json.loads(counts["app_versions"]) if version],
            "conversation_count": counts["conversations"],
            "result_count": counts["results"],
            "pass_count": counts["passes"],
            "fail_count": counts["fails"],
            "no_verdict_count": counts["no_verdict"],
            "rejected_record_count": rejected,
        }
        fields = {name: value for name, value in known.items() if value is not None}
        summaries.append(tools.RunSummary.from_value(fields).to_value())
    return summaries


# Reads the trend of criteria over the runs of an app.

_SHOWN = 20
_UNKNOWN_APP = "; it wrote no row that names an app, and may be of this one"


def get_criterion_trend(service: Service, request: tools.GetCriterionTrendRequest) -> JsonObject:
    """Returns runs of an app with what they measured, the newest first."""
    app = checked("app", request.parent)
    version = version_key(request.app_version) if request.app_version else None
    criterion = key_text(request.criterion)
    is_own = or_(RUNS.c.app == app, (RUNS.c.app == LOCAL_APP) & stored_runs.is_empty())
    conditions = [is_own, *read_filter("filter", request.filter, filter_fields(app)["runs"])]
    listing = Listing(app, RUNS, RUN_COLUMNS, conditions, "create_time")

    def entries(connection: Connection, rows: Sequence[Row[Any]]) -> list[JsonObject]:
        _check_measured(connection, app, criterion, version)
        metrics = stored_rows.version_metrics(connection, [row.name for row in rows])
        runs, trend = [row._mapping for row in rows], []
        for row, summary in zip(runs, run_summaries(connection, app, runs), strict=True):
            of_run, state = metrics.get(row["name"]), stored_runs.RunState.of(row)
            if state.is_counted and of_run:
                trend.append({"run": summary, "points": list(_points(row, of_run, criterion, version))})
                continue
            gap = "it has no result in this app"
            if not state.is_counted:
                gap = state.sentence()
            elif row["results"]:
                gap = _elsewhere(row) or "it kept no metrics"
            elif rejected := summary.get("rejectedRecordCount"):
                gap += f": it rejected {counted(rejected, 'record or conversation')}"
            trend.append({"run": summary, "gap": gap if row["app"] == app else gap + _UNKNOWN_APP})
        return trend

    identity = map(repr, (app, criterion, version))
    return listed(service, request, "runs", listing, entries, "trend", *identity, request.filter)


def _check_measured(connection: Connection, app: str, criterion: str, version: str | None) -> None:
    """Raises ServiceError if no run measured a criterion ("": all), or has an app version (None: all)."""
    if criterion:
        texts = connection.execute(select(RUNS.c.criteria).where(RUNS.c.app == app).distinct()).scalars()
        configured = {name for text in texts for name in json.loads(text or "[]")}
        known = {*stored_rows.measured_names(connection, app, "criterion"), *configured}
        if criterion not in known:
            raise _unknown("criterion", criterion, known)
    if version is not None:
        versions = stored_rows.measured_names(connection, app, "version_id")
        is_its = [(table, table.c.version_id == version) for table in (RESULTS, CONVERSATIONS)]
        is_its.append((FAILURES, FAILURES.c.app_version.in_((version, f"{app}/versions/{version}"))))
        has = (exists().where(table.c.app == app, is_it) for table, is_it in is_its)
        if version not in versions and not connection.execute(select(or_(*has))).scalar():
            raise _unknown("app version", version, versions)


def _unknown(kind: str, name: str, known: set[str] | list[str]) -> ServiceError:
    shown = ", ".join(sorted({*known} - {""})[:_SHOWN]) or "none"
    return ServiceError("NOT_FOUND", f"no run of the app has the {kind} {name!r}; known: {shown}")


def _elsewhere(row: RowMapping) -> str:
    if row["home"] == row["name"]:
        return ""
    return f"metrics of versions that name no app are in {row['home']}"


def _points(
    row: RowMapping, metrics: Sequence[stored_rows.VersionMetric], criterion: str, version: str | None
) -> Iterator[JsonObject]:
    """Yields the points of a run; a criterion that was not measured gets one that says why."""
    configured = json.loads(row["criteria"] or "[]")
    versions = {*json.loads(row["app_versions"] or "[]"), *(metric["version_id"] for metric in metrics)}
    others = sorted({metric["criterion"] for metric in metrics})
    criteria = dict.fromkeys([STATUS, *configured, *others])  # the order of all tables
    for name in [criterion] if criterion else criteria:
        for app_version in sorted(versions) if version is None else [version]:
            of_version = [metric for metric in metrics if metric["version_id"] == app_version]
            measured = [metric for metric in of_version if metric["criterion"] == name]
            yield from map(_point, measured)
            if measured:
                continue
            if not of_version and app_version not in versions:
                reason = "the run has no conversation of this version"
            elif not of_version:
                reason = _elsewhere(row) or "the run kept no metrics of this version"
            elif name in {STATUS, *configured}:
                reason = "n/a in this run: nothing to measure"
            else:
                reason = "it is none of the criteria of this run"
            yield tools.TrendPoint(criterion=name, app_version_id=app_version, gap=reason).to_value()


def _point(metric: stored_rows.VersionMetric) -> JsonObject:
    interval, gap = None, ""
    if metric["mean"] is not None and metric["stddev"] is not None:
        interval = mean_interval(SampleMoments(metric["scored"], metric["mean"], metric["stddev"] ** 2))
        least = -inf if metric["unit"] == "score" else 0.0
        kind = CRITERIA.get(metric["criterion"])
        low, high = (kind and kind.scale) or (least, inf)
        interval = interval and Bounds(max(low, interval.low), min(high, interval.high))
    if not metric["scored"]:
        errors = f"; it failed with an error {metric['errors']} times" if metric["errors"] else ""
        gap = (f"none of {metric['count']} scores has a value" if metric["count"] else "no score") + errors
    point = tools.TrendPoint(
        **{name: figure for name, figure in metric.items() if name in tools.TrendPoint.model_fields},
        app_version_id=metric["version_id"],
        gap=gap,
        score_count=metric["count"],
        scored_count=metric["scored"],
        no_score_count=metric["no_score"],
        error_count=metric["errors"],
        mean_interval_low=interval.low if interval else None,
        mean_interval_high=interval.high if interval else None,
        conversation_count=metric["conversations"] or 0,
        turn_count=metric["turns"] or 0,
    )
    return point.to_value()


# Reads conversations of runs: which to read first, and a whole one.

_MOST_LISTED, _MOST_SCORES, _MOST_NAMES, _MOST_TEXT = 50, 200, 20, 1_000
_OUTCOMES = ("FAIL", None, "SKIPPED", "PASS")


def list_conversations_to_read(service: Service, request: tools.ListConversationsToReadRequest) -> JsonObject:
    """Returns the conversations of a run to read first."""
    app = checked("app", request.parent)
    if request.page_size < 0:
        raise invalid("pageSize", "must not be negative")
    most = min(request.page_size or MOST_READ, _MOST_LISTED)

    def work(connection: Connection) -> JsonObject:
        run = _named_or_last_run(connection, app, request.evaluation_run)
        version = version_key(request.app_version) if request.app_version else None
        counts = stored_rows.verdict_counts(connection, run, version)
        if not counts:
            _check_measured(connection, app, "", version)
        rejected = stored_runs.rejected_of_runs(connection, app, [run], version).total()
        if not counts and not rejected:
            raise not_found(f"a conversation of {run}" if version else run)
        briefs = []
        for name, row, problem_type_size in stored_rows.conversations_to_read(connection, run, version, most):
            columns = {k: v for k, v in row.items() if k in tools.ConversationBrief.model_fields}
            brief = columns | {"name": name, "problem_type_size": problem_type_size}
            briefs.append(tools.ConversationBrief.from_value(brief).to_value())
        # Rejected records may name no app.
        names = [stored_runs.run_key(of_app, run.rsplit("/", 1)[-1]) for of_app in (app, LOCAL_APP)]
        all_states, unread = stored_runs.run_states(connection, {app, LOCAL_APP}), list[str]()
        states = [all_states[name] for name in names if name in all_states]
        if not request.evaluation_run:  # executions that wrote later, and have not ended or broke off
            last = max((state.update_nanos for state in states), default=0)
            later = stored_runs.unread_runs(connection, app, None, None, and_unknown=True)
            others = (state for state in later if state.is_counted or state.name not in names)
            unread = [state.sentence() for state in others if state.unread_nanos > last]
        return {"evaluationRun": run, "runState": states[0].state if states else ""} | stated(
            {
                "unreadRuns": unread,
                "conversations": briefs,
                "conversationCount": sum(counts.values()),
                "failCount": counts.get("FAIL", 0),
                "noVerdictCount": counts.get("", 0),
                "rejectedRecordCount": rejected,
            }
        )

    return service.store.read(work)


def get_conversation(service: Service, request: tools.GetConversationRequest) -> JsonObject:
    """Returns a conversation of a run with its scores."""
    if request.name and (request.parent or request.conversation_id or request.evaluation_run):
        raise invalid("name", "give either name, or parent and conversationId")
    if not request.name and not request.conversation_id:
        raise invalid("name", "is missing: give name, or parent and conversationId")

    def work(connection: Connection) -> JsonObject:
        names, sought = [request.name], request.name
        if not request.name:
            app = checked("app", request.parent)
            run = _named_or_last_run(connection, app, request.evaluation_run)
            names = [*stored_rows.names_of(connection, app, request.conversation_id, run)]
            which = "" if request.evaluation_run else ", the last run (evaluationRun names another)"
            sought = f"conversation {request.conversation_id[:200]} in {run}{which},"
        row = stored_rows.find_conversation(connection, names[0]) if names else None
        if row is None:
            raise not_found(sought)
        scores = stored_rows.scores_of(connection, names[0])
        scores.sort(key=lambda score: _OUTCOMES.index(score["outcome"]))
        shown_scores = []
        for score in scores[:_MOST_SCORES]:
            fields = {name: score[name] for name in tools.ConversationScore.model_fields}
            cut = {k: one_line(v, _MOST_TEXT) if isinstance(v, str) else v for k, v in fields.items()}
            shown_scores.append(cut)
        columns = {name: row.get(name) for name in tools.RecordedConversation.model_fields if name in row}
        recorded = tools.RecordedConversation.from_value(
            {
                **columns,
                "transcript": None,
                "name": names[0],
                "evaluation_run": names[0].partition("/conversations/c-")[0],
                "other_names": names[1 : _MOST_NAMES + 1],
                "scores": shown_scores,
                "omitted_score_count": max(0, len(scores) - _MOST_SCORES),
            }
        ).to_value()
        # Arguments of calls may be nested deeper than a message may be.
        return recorded | ({"transcript": row["transcript"]} if row["transcript"] else {})

    return service.store.read(work)


def named_run(app: str, run: str, field: str) -> str:
    """Returns the name of a run by its name or id; raises ServiceError if it is of another app."""
    if "/" in run and not checked("run", run, field).startswith(f"{app}/evaluationRuns/"):
        raise invalid(field, f"is no run of {app}")
    return run_name(app, run.rsplit("/", 1)[-1])


def _named_or_last_run(connection: Connection, app: str, named: str) -> str:
    """Returns the name of a run; raises ServiceError if none is named and there is none."""
    if named:
        return named_run(app, named, "evaluationRun")
    run = stored_runs.last_run(connection, app)
    if run is None:
        raise not_found(f"a run with conversations in {app}")
    return run
