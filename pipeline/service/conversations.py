"""Reads conversations of runs: which to read first, and a whole one."""

from sqlalchemy import Connection

from turnwise.pipeline.service.errors import field_errors, invalid, not_found
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.store.database import LOCAL_APP, key_text, run_name
from turnwise.pipeline.store.lost import last_run, lost_of_runs
from turnwise.pipeline.store.rows import (
    RunPart,
    conversations_to_read,
    find_conversation,
    names_of,
    scores_of,
    verdict_counts,
    version_id,
)
from turnwise.pipeline.store.runs import run_key, run_state, run_states, unread_runs
from turnwise.schemas.ces.names import checked_name
from turnwise.schemas.ces.tools import (
    ConversationBrief,
    ConversationScore,
    GetConversationRequest,
    ListConversationsToReadRequest,
    RecordedConversation,
)
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import ConversationRow
from turnwise.transforms.review.problems import MOST_READ, one_line

_MOST_LISTED = 50
_MOST_SCORES = 200
_MOST_NAMES = 20
_MOST_TEXT = 1_000
_OUTCOMES = ("FAIL", None, "SKIPPED", "PASS")


def list_conversations_to_read(service: Service, request: ListConversationsToReadRequest) -> JsonObject:
    """Returns the conversations of a run to read first.

    Raises:
        ServiceError: The request is invalid, or there is no such run.
    """
    with field_errors("parent"):
        app = checked_name("app", request.parent)
    if request.page_size < 0:
        raise invalid("pageSize", "must not be negative")
    most = min(request.page_size or MOST_READ, _MOST_LISTED)

    def work(connection: Connection) -> JsonObject:
        run = _run(connection, app, request.evaluation_run)
        part = RunPart(run, key_text(version_id(request.app_version)) if request.app_version else None)
        counts = verdict_counts(connection, part)
        lost = lost_of_runs(connection, app, [run], part.version).total()
        if not counts and not lost:
            raise not_found(f"a conversation of {run}" if part.version else run)
        found = conversations_to_read(connection, part, most)
        told = [_short(row.name, row.row, row.cluster_size) for row in found]
        figures = {"conversationCount": sum(counts.values()), "failCount": counts.get("FAIL", 0)}
        figures |= {"undecidedCount": counts.get("", 0), "lostRecordCount": lost}
        state = run_state(connection, run)
        later = [] if request.evaluation_run else _later(connection, app, run)
        named: JsonObject = {"evaluationRun": run, "runState": state} | (
            {"unreadRuns": later} if later else {}
        )
        return named | ({"conversations": told} if told else {}) | _stated(figures)

    return service.store.read(work)


def get_conversation(service: Service, request: GetConversationRequest) -> JsonObject:
    """Returns a conversation of a run with its scores.

    Raises:
        ServiceError: The request is invalid, or there is no such conversation.
    """
    if request.name and (request.parent or request.conversation_id or request.evaluation_run):
        raise invalid("name", "give either name, or parent and conversationId")
    if not request.name and not request.conversation_id:
        raise invalid("name", "is missing: give name, or parent and conversationId")
    return service.store.read(lambda connection: _conversation(connection, request))


def _conversation(connection: Connection, request: GetConversationRequest) -> JsonObject:
    names = [request.name] if request.name else _names(connection, request)
    row = find_conversation(connection, names[0]) if names else None
    if row is None:
        raise not_found(request.name or _searched(connection, request))
    scores = sorted(scores_of(connection, names[0]), key=lambda score: _OUTCOMES.index(score["outcome"]))
    columns = {name: row.get(name) for name in RecordedConversation.model_fields if name in row}
    told = RecordedConversation.from_value(
        {
            **columns,
            "transcript": None,
            "name": names[0],
            "evaluation_run": names[0].partition("/conversations/c-")[0],
            "other_names": names[1 : _MOST_NAMES + 1],
            "scores": list(map(_score, scores[:_MOST_SCORES])),
            "omitted_score_count": max(0, len(scores) - _MOST_SCORES),
        }
    ).to_value()
    # Arguments of calls may be nested deeper than a message may be.
    return told | ({"transcript": row["transcript"]} if row["transcript"] else {})


def _searched(connection: Connection, request: GetConversationRequest) -> str:
    """Returns which conversation was searched for, and in which run; without a named one, in the last."""
    run = _run(connection, request.parent, request.evaluation_run)
    which = "" if request.evaluation_run else ", the last run (evaluationRun names another)"
    return f"conversation {request.conversation_id[:200]} in {run}{which},"


def _names(connection: Connection, request: GetConversationRequest) -> list[str]:
    with field_errors("parent"):
        app = checked_name("app", request.parent)
    run = _run(connection, app, request.evaluation_run)
    return list(names_of(connection, app, request.conversation_id, run))


def _run(connection: Connection, app: str, named: str) -> str:
    """Returns the name of a run; raises ServiceError if none is named and there is none."""
    if named:
        return run_name(app, named.rsplit("/", 1)[-1])
    run = last_run(connection, app)
    if run is None:
        raise not_found(f"a run with conversations in {app}")
    return run


def _later(connection: Connection, app: str, run: str) -> list[str]:
    """Returns what is said of executions that wrote later than a run, and have not ended or broke off."""
    names = [run_key(own, run.rsplit("/", 1)[-1]) for own in (app, LOCAL_APP)]
    states = run_states(connection, {app, LOCAL_APP})
    last = max((states[name].update_nanos for name in names if name in states), default=0)
    unread = unread_runs(connection, app, None, None, and_unknown=True)
    others = [own for own in unread if own.is_counted or own.name not in names]
    return [own.told() for own in others if own.unread_nanos > last]


def _short(name: str, row: ConversationRow, cluster_size: int) -> JsonObject:
    columns = {key: row[key] for key in ConversationBrief.model_fields if key in row}  # type: ignore[literal-required]
    return ConversationBrief.from_value(columns | {"name": name, "cluster_size": cluster_size}).to_value()


def _score(score: JsonObject) -> JsonObject:
    """Returns the fields of a score; texts are cut after 1,000 characters."""
    fields = {name: score[name] for name in ConversationScore.model_fields}
    return {k: one_line(v, _MOST_TEXT) if isinstance(v, str) else v for k, v in fields.items()}


def _stated(figures: dict[str, int]) -> JsonObject:
    return {name: number for name, number in figures.items() if number}
