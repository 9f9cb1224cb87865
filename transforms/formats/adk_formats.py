"""The formats of google-adk, as objects."""

from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from turnwise.schemas import adk
from turnwise.schemas import conversation as canonical
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats import adk_cases as cases
from turnwise.transforms.formats import adk_sessions as event
from turnwise.transforms.formats.adk_sessions import session_conversation
from turnwise.transforms.formats.canonical import check_calls
from turnwise.transforms.formats.endings import UNKNOWN, End, context_tools, spelt
from turnwise.transforms.formats.fields import one_line_problems
from turnwise.transforms.formats.identity import ANY, BOTH, OF_ANY, OF_STATE, stated_identity
from turnwise.transforms.formats.messages.kinds import key_set, objects_in
from turnwise.transforms.formats.registry import EventReader, register_built_in
from turnwise.transforms.matching.sample import broke_off


def eval_result_conversations(value: JsonValue) -> list[canonical.Conversation]:
    """Returns one conversation per case result of an EvalSetResult, or of one EvalCaseResult.

    A case in which the agent raised an error has no invocation: its turns are those of its session, if
    included, and its app version is that of the session or else of all other cases. Its expectations are
    unknown. Raises ValueError, one line, for what cannot be read even leniently.
    """
    with one_line_problems("not an ADK eval result"):
        if isinstance(value, dict) and ("eval_case_results" in value or "evalCaseResults" in value):
            document = adk.read_log(adk.EvalSetResult, value)
        else:
            document = adk.EvalSetResult(eval_case_results=[adk.read_log(adk.EvalCaseResult, value)])
    results = document.eval_case_results
    sessions = Counter(result.session_id for result in results)
    conversations = []
    for i, result in enumerate(results):
        result.eval_set_id = result.eval_set_id or document.eval_set_id
        unique = result.session_id and sessions[result.session_id] == 1
        name = result.session_id if unique else f"{document.eval_set_result_id}/{result.eval_id}/{i}"
        conversations.append(_conversation(result, name or ""))
    versions = {conversation.app_version for conversation in conversations if conversation.turns}
    keys = [(conversation.eval_set_id, conversation.eval_id) for conversation in conversations]
    counts, done = Counter(keys), Counter[tuple[str | None, str | None]]()
    for key, conversation in zip(keys, conversations, strict=True):
        if len(versions) == 1 and broke_off(conversation) and not conversation.state:
            conversation.app_version = conversation.app_version or next(iter(versions))
        if counts[key] > 1:  # which run of its case it is
            conversation.meta["trial"] = done[key]
            done[key] += 1
    return conversations


_RAISED = "final_eval_status is FAILED and no invocation was recorded: the agent raised an error"


def _conversation(result: adk.EvalCaseResult, conversation_id: str) -> canonical.Conversation:
    details = result.session_details if isinstance(result.session_details, dict) else {}
    state = details["state"] if isinstance(details.get("state"), dict) else {}
    pairs, metrics = result.eval_metric_result_per_invocation, result.overall_eval_metric_results
    recorded = [pair.actual_invocation for pair in pairs]
    context, end = cases.turn_context(recorded), UNKNOWN
    unscored = all(m.eval_status == adk.EvalStatus.NOT_EVALUATED and m.score is None for m in metrics)
    if pairs and all(p.expected_invocation for p in pairs) and cases.parts_of(recorded[-1].final_response):
        end = End("normally")
    elif not pairs and result.final_eval_status == adk.EvalStatus.FAILED and unscored:
        end = End("agent_error", _RAISED)  # google-adk keeps no invocation of a run that raised
    turns: list[canonical.Turn] = []
    for index, (pair, actual) in enumerate(zip(pairs, recorded, strict=True)):
        turn = cases.unread_parts(actual).add_to(cases.invocation_turn(actual, index))
        # google-adk copies every rubric that applies onto the actual invocation.
        rubrics = cases.rubrics_of(actual.rubrics)
        if pair.expected_invocation:
            turn.expected = cases.invocation_expected(pair.expected_invocation)
            turn.expected.rubrics = rubrics or turn.expected.rubrics
        elif rubrics:
            turn.expected = canonical.ExpectedTurn(rubrics=rubrics)
        turns.append(turn)
    check_calls(turns)
    scores = {metric.metric_name: metric.score for metric in metrics}
    made = canonical.Conversation(conversation_id, "adk", turns=turns, state=state, meta=context)
    made.app_version = stated_identity((("", OF_STATE), *OF_ANY), state).app_version
    made.eval_id, made.eval_set_id = result.eval_id or None, result.eval_set_id or None
    made.user_id, made.ended, made.ended_detail = result.user_id or None, end.ended, end.detail
    made.labels = {"final_eval_status": result.final_eval_status.name, "metrics": scores}
    made.tools = context_tools(context.get(canonical.APP_DETAILS))
    made.expected = None if recorded else canonical.ExpectedOutcome()
    if details.get("events") and not made.turns:
        session = session_conversation({"id": made.conversation_id, **details})
        made.turns, made.start_time = session.turns, session.start_time
        made.tools, made.meta = session.tools, made.meta | session.meta
        made.user_id = made.user_id or session.user_id
        if made.ended == "agent_error" and session.ended in ("agent_error", "limit"):
            made.ended = session.ended
            made.ended_detail = f"{made.ended_detail}: {session.ended_detail}"
    return made


T = TypeVar("T")
_OF_ROWS = key_set("expected_tool_use expected_intermediate_agent_responses reference")
_OF_EVENTS = spelt("content", "actions", "invocation_id", "error_code")


def _is_row(record: JsonObject) -> bool:
    return "query" in record and not _OF_ROWS.isdisjoint(record)


def _has(*names: str) -> Callable[[JsonObject], bool]:
    keys = spelt(*names)  # in either spelling
    return lambda record: not keys.isdisjoint(record)


_HAS_SESSION, _HAS_STATE = _has("session_id"), _has("state", "app_name")
_HAS_ID, _HAS_SCRIPT = _has("eval_id"), _has("conversation", "conversation_scenario")


def _singly(value: JsonValue, key: str, read: Callable[[JsonValue], list[T]]) -> list[T | ValueError]:
    """Reads a document that lists several things; if it is refused, one thing at a time."""
    try:
        return list(read(value))
    except ValueError:
        items = value.get(key) if isinstance(value, dict) else None
        if not isinstance(items, list) or len(items) < 2:
            raise
        read_items: list[T | ValueError] = []
        for position, item in enumerate(items, 1):
            try:
                read_items += read({**value, key: [item]})
            except ValueError as problem:
                read_items.append(ValueError(f"entry {position}: {problem}"))
        if all(isinstance(item, ValueError) for item in read_items):
            raise
        return read_items


def _is_event(record: JsonObject) -> bool:
    """Returns whether a record is an event, in an envelope or with a session id, or an end of a session."""
    inner = record.get("event")
    inside = not isinstance(inner, dict | None) or bool(inner and inner.keys() & {"author", *_OF_EVENTS})
    return _HAS_SESSION(record) and (inside or event.is_end(record) or _is_bare(record))


def _is_bare(record: JsonObject) -> bool:
    return "author" in record and bool(record.keys() & _OF_EVENTS)


def _is_session(record: JsonObject) -> bool:
    """Returns whether a record is a session, by its events' authors, or by state or app name."""
    if record.keys() >= {"id", "events"} and not record["events"]:
        return _HAS_STATE(record)
    return "id" in record and any(map(_is_bare, objects_in(record.get("events"))))


# For example {"eval_set_id": "s", "eval_cases": [{"eval_id": "e", "conversation": [...]}]}
register_built_in(
    "adk_eval_set", 30, "ADK eval set", _has("eval_cases"), ("eval_set_id", "eval_cases"),
    read_cases=lambda value, *_: _singly(value, "eval_cases", cases.eval_cases),
)  # fmt: skip
# For example {"eval_id": "e", "conversation": [{"user_content": {"parts": [{"text": "Hi"}]}}]}
register_built_in(
    "adk_eval_case", 40, "ADK eval case", lambda record: _HAS_ID(record) and _HAS_SCRIPT(record),
    ("eval_id", "conversation"), read_cases=lambda value, *_: cases.eval_cases(value),
)  # fmt: skip
# For example {"eval_set_id": "s", "eval_case_results": [{"eval_id": "e", "session_id": "7", ...}]}
register_built_in(
    "adk_eval_result", 50, "ADK eval result (EvalSetResult)", _has("eval_case_results"),
    ("eval_set_result_id", "eval_set_id", "eval_case_results"),
    read_log=lambda value, *_: _singly(value, "eval_case_results", eval_result_conversations),
    is_in_text=True, has_rubrics=True,
)  # fmt: skip
# For example {"eval_id": "e", "eval_metric_result_per_invocation": [{"actual_invocation": {...}}]}
register_built_in(
    "adk_case_result", 60, "one case of an ADK eval result", _has("eval_metric_result_per_invocation"),
    ("eval_id", "final_eval_status", "eval_metric_result_per_invocation"),
    read_log=lambda value, record, settings: eval_result_conversations(value), has_rubrics=True,
)  # fmt: skip
# What events change and the state, by time: a stored state is the last one, that of an event is before it.
_DELTAS = BOTH.join(("events.actions.state_delta", "events.actions.stateDelta", "state"))
_ACTIONS = (f"{path}.{key}" for path in ("event.actions", "actions") for key in ("state_delta", "stateDelta"))
_EVENT_DELTAS = BOTH.join(("state", *_ACTIONS))
# For example {"id": "7", "app_name": "desk", "events": [{"author": "user", "content": {"parts": [...]}}]}
register_built_in(
    "adk_session", 70, "ADK stored session", _is_session, ("id", "app_name", "user_id", "state", "events"),
    read_log=lambda value, record, settings: [session_conversation(value)],
    places=(("", ANY), ("labels", ANY), ("events.custom_metadata", ANY), (_DELTAS, OF_STATE)), source="adk",
)  # fmt: skip
# For example {"session_id": "7", "event": {"author": "desk", "content": {"parts": [{"text": "Hello"}]}}}
register_built_in(
    "adk_event", 80, "ADK events as they happen", _is_event, ("session_id", "event"), source="adk",
    places=(*((path, ANY) for path in ("", "labels", "event.custom_metadata", "custom_metadata")),
            (_EVENT_DELTAS, OF_STATE)),
    events=EventReader(locate=event.locate, is_end=event.is_end, join=event.joined_conversation,
                       own_id=lambda value: (event.logged_event(value) or {}).get("id")),
)  # fmt: skip
# For example {"name": "off", "data": [{"query": "Turn it off", "expected_tool_use": []}]}
register_built_in(
    "adk_legacy_case", 150, "ADK eval case before 1.0",
    lambda record: "name" in record and isinstance(record.get("data"), list),
    ("name", "data", "initial_session"), read_cases=cases.legacy_cases,
)  # fmt: skip
# For example [{"query": "Turn it off", "expected_tool_use": [{"tool_name": "off", "tool_input": {}}]}]
register_built_in(
    "adk_legacy_rows", 160, "rows of an ADK eval case before 1.0",
    _is_row, ("query", "expected_tool_use", "reference"), read_cases=cases.legacy_cases,
    is_list=lambda first: first.keys() == {"query"} or _is_row(first),
)  # fmt: skip
