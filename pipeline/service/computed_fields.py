"""Computed fields of evaluations, limits of requests, and the paging, order and filter of lists."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from threading import Lock
from typing import Literal, NamedTuple, get_args

import orjson
from sqlalchemy import Connection

from turnwise.pipeline.service.serve import ServiceError, field_errors, invalid
from turnwise.pipeline.store import rows, summaries
from turnwise.schemas.ces.names import app_of
from turnwise.schemas.ces.result import Evaluation
from turnwise.schemas.config import CesConfig
from turnwise.schemas.jsonio import JsonObject, dump_json, shown
from turnwise.schemas.proto.masks import parse_filter
from turnwise.schemas.proto.scalars import nanos_timestamp
from turnwise.transforms.ces.judgements import aggregated_metrics
from turnwise.transforms.formats.ces_cases import eval_case

LAST_COMPLETED = "lastCompletedResult"
COMPUTED = frozenset({"aggregatedMetrics", "evaluationRuns", LAST_COMPLETED})
"""Fields that are computed from results and returned by default."""

LAST_TEN = "lastTenResults"
_MOST_KEPT = 20_000
_Stamp = tuple[summaries.RunKey, ...]


class FiguresCache:
    """Caches the figures of evaluations until a run ends, or one that has ended changes."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[_Stamp, rows.EvaluationFigures]] = {}
        self._lock = Lock()

    def read(
        self, connection: Connection, app: str, evaluations: Iterable[str] | None = None
    ) -> dict[str, rows.EvaluationFigures]:
        """Returns the figures of those evaluations (None: of all of the app) that have results."""
        now = tuple(summaries.counted_runs(connection, app))
        if evaluations is None:
            groups = summaries.kept(connection, now, summaries.RESULT_GROUPS)
            by_run = {run.name: groups.get(run) or rows.result_groups(connection, run.name) for run in now}
            summed = dict(sorted(rows.figures_of(by_run).items()))
        else:
            summed = dict.fromkeys(evaluations)
        by_name = {}
        for name, figures in summed.items():
            if figures is None:
                stamp, figures = self._kept.get(name, (None, None))
                if figures is None or stamp != now:
                    figures = rows.read_figures(connection, name)
                    with self._lock:
                        self._kept.pop(name, None)
                        self._kept[name] = (now, figures)
                        if len(self._kept) > _MOST_KEPT:
                            del self._kept[next(iter(self._kept))]
            if figures.versions or figures.runs:
                by_name[name] = figures
        return by_name


def with_computed_fields(
    connection: Connection,
    stored: Collection[rows.StoredEvaluation],
    cache: FiguresCache,
    wanted: Collection[str],
) -> list[JsonObject]:
    """Returns evaluations of one app with computed fields, in canonical proto3 JSON."""
    names = [evaluation.name for evaluation in stored]
    figures: dict[str, rows.EvaluationFigures] = {}
    if names and {"aggregatedMetrics", "evaluationRuns"} & set(wanted):
        figures = cache.read(connection, app_of(names[0]), names)
    last = rows.last_completed(connection, names) if LAST_COMPLETED in wanted else {}
    values = []
    for evaluation in stored:
        of_evaluation = figures.get(evaluation.name)
        computed = {
            LAST_COMPLETED: last.get(evaluation.name),
            "evaluationRuns": of_evaluation and of_evaluation.runs,
            "aggregatedMetrics": of_evaluation and aggregated_metrics(of_evaluation.versions),
            LAST_TEN: rows.newest_results(connection, evaluation.name, 10) if LAST_TEN in wanted else None,
        }
        value: JsonObject = {
            **evaluation.content,
            "createTime": nanos_timestamp(evaluation.create_nanos),
            "createdBy": evaluation.created_by,
            "updateTime": nanos_timestamp(evaluation.update_nanos),
            "lastUpdatedBy": evaluation.last_updated_by,
            "etag": evaluation.etag,
            **{name: item for name, item in computed.items() if item and name in wanted},
        }
        values.append(value)
    return values


def stated(fields: JsonObject) -> JsonObject:
    """Returns the fields of an answer without what is not known, counts of 0 and empty lists."""
    counts = "Count", "s", "criteria", "notCompared"  # names in the plural are those of lists
    known = {name: value for name, value in fields.items() if value is not None}
    return {name: value for name, value in known.items() if value or not name.endswith(counts)}


# Checks requests and evaluations against the limits of the API and the rules of a run.

MAX_BYTES = 4 * 1024 * 1024
"""Size of a request's JSON, and of an evaluation's."""

_MOST_TURNS = 100
_MOST_TAGS = 100
_LONGEST_LIST = 10_000
_MOST_VALUES = 100_000


def check_lists(request: bytes | JsonObject) -> None:
    """Raises ServiceError if JSON, parsed or (then it may be invalid) not, would delay other requests."""
    try:
        value = orjson.loads(request) if isinstance(request, bytes) else request
    except orjson.JSONDecodeError:
        return
    count, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        inside = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        if isinstance(item, list) and len(item) > _LONGEST_LIST:
            raise ServiceError("INVALID_ARGUMENT", f"a list holds more than {_LONGEST_LIST} entries")
        count += len(inside)
        if count > _MOST_VALUES:
            raise ServiceError("INVALID_ARGUMENT", f"the request holds more than {_MOST_VALUES} values")
        waiting.extend(inside)


def check_content(content: JsonObject) -> None:
    """Raises ServiceError if the content of an evaluation after a request is not valid."""
    if not content.get("displayName", "").strip():
        raise invalid("evaluation.displayName", "is required")
    if "golden" not in content and "scenario" not in content:
        raise invalid("evaluation", "golden or scenario is required")
    if len(content.get("tags", ())) > _MOST_TAGS:
        raise invalid("evaluation.tags", f"must have at most {_MOST_TAGS} entries")
    if len(content.get("golden", {}).get("turns", ())) > _MOST_TURNS:
        raise invalid("evaluation.golden.turns", f"must have at most {_MOST_TURNS} entries")
    if not 0 <= content.get("scenario", {}).get("maxTurns", 0) <= _MOST_TURNS:
        raise invalid("evaluation.scenario.maxTurns", f"must lie between 0 and {_MOST_TURNS}")
    text = dump_json(content)
    if len(text) > MAX_BYTES:
        raise invalid("evaluation", f"is larger than {MAX_BYTES // 1024 // 1024} MiB")
    with field_errors("evaluation"):
        Evaluation.from_value(content)
        eval_case(text, CesConfig())


# Parses paging, order and filter of list requests.

DEFAULT_PAGE = 50
LARGEST_PAGE = 200

OrderBy = Literal["name", "create_time", "update_time"]
_DIRECTIONS = {"name": "asc", "create_time": "desc", "update_time": "desc"}


class Position(NamedTuple):
    """The last row of a page: its time (0 if ordered by name) and its name."""

    nanos: int
    name: str


class Paging(NamedTuple):
    """The requested part of a list: after an entry (None: from the start), at most `size` entries.

    The digest identifies the list, so that a page token of another list is refused.
    """

    digest: str
    after: Position | None
    size: int


def read_paging(page_size: int, page_token: str, *identity: str) -> Paging:
    """Returns the requested page; `identity` is all that determines the list and its order."""
    if page_size < 0:
        raise invalid("pageSize", "must not be negative")
    digest = sha256("\0".join(identity).encode("utf-8", "replace")).hexdigest()[:16]
    size = min(page_size or DEFAULT_PAGE, LARGEST_PAGE)
    if not page_token:
        return Paging(digest, None, size)
    try:
        list_digest, nanos, name = json.loads(urlsafe_b64decode(page_token.encode("ascii")))
        is_ours = isinstance(name, str) and type(nanos) is int and -(2**63) <= nanos < 2**63
    except (ValueError, TypeError, RecursionError):
        is_ours = False
    if not is_ours:
        raise invalid("pageToken", "is not a token of this service")
    if list_digest != digest:
        raise invalid("pageToken", "is of another list: keep parent, filter and orderBy the same")
    return Paging(digest, Position(nanos, name), size)


def next_token(paging: Paging, end: Position | None) -> JsonObject:
    """Returns the token of the page after a position; empty after the last page."""
    if end is None:
        return {}
    text = json.dumps([paging.digest, end.nanos, end.name]).encode()
    return {"nextPageToken": urlsafe_b64encode(text).decode()}


def read_order(text: str, orders: Sequence[OrderBy] = get_args(OrderBy)) -> OrderBy:
    """Returns the requested order; raises ServiceError if it is not supported.

    By name, the default, entries keep their places while others are written, so that pages miss none.
    """
    name, _, direction = " ".join(text.split()).partition(" ")
    snake = {"createTime": "create_time", "updateTime": "update_time", "": "name"}.get(name, name)
    for order in orders:
        if snake == order and direction in ("", _DIRECTIONS[order]):
            return order
    known = ", ".join(f"{order} {_DIRECTIONS[order]}" for order in orders)
    raise invalid("orderBy", f"{shown(text)} is not supported; use one of {known}")


def read_filter(field: str, text: str, fields: Mapping[str, summaries.Field]) -> list[summaries.Sql]:
    """Returns the condition of a request's filter as a list, empty if it is empty; raises ServiceError."""
    with field_errors(field):
        parsed = parse_filter(text)
        return [] if parsed is None else [summaries.condition_of(parsed, fields)]
