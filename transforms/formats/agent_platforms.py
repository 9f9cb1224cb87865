"""Conversations of agent platforms: Dialogflow CX, Contact Center (CX) Insights, and Amazon Bedrock Agents.

Field names of Google's: `google.cloud.dialogflowcx_v3beta1.types` (`Conversation`, `ToolUse`) and
`google.cloud.contact_center_insights_v1.types` (`Conversation`); for tables and files
docs.cloud.google.com/dialogflow/cx/docs/concept/export-bq and, below /gemini-enterprise-cx/insights,
`bigquery-v7-schema` and `conversation-data-format`. Every key in camelCase or snake_case.
"""

import re
from collections.abc import Sequence
from itertools import groupby, zip_longest

from turnwise.schemas.conversation import Conversation, Record
from turnwise.schemas.jsonio import JsonObject, JsonValue, json_structure
from turnwise.transforms.formats.endings import UNKNOWN, End, as_text, name_of
from turnwise.transforms.formats.fields import MISSING, NO_ANSWER, UNREAD, add_leap
from turnwise.transforms.formats.identity import ANY, BOTH, FLOWS, Paths, Places
from turnwise.transforms.formats.messages import kinds
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.messages_base import MISSING_HISTORY
from turnwise.transforms.formats.messages.parts import CONTENT_OFF
from turnwise.transforms.formats.registry import EventReader, record_place, register_built_in
from turnwise.transforms.text.dates import rfc3339, time_seconds


def _places_in(request: str) -> Places:
    return (
        (f"{request}.queryParams.parameters{BOTH}{request}.query_params.parameters", ANY),
        (f"{request}.queryParams{BOTH}{request}.query_params", Paths(app_version=FLOWS)),
    )


def _locate(value: JsonObject) -> tuple[str, int]:
    name, position = as_text(value.get("conversation_name")), value.get("turn_position")
    try:
        index = int(position) if isinstance(position, int | str) else -1
    except ValueError:
        index = -1
    if not name or index < 0:
        raise ValueError("a row of Dialogflow CX needs conversation_name and turn_position")
    return name, index


def _join_dialogflow(session_id: str, values: Sequence[JsonObject]) -> Conversation:
    log, end, leaps = Dialogue(), UNKNOWN, list[tuple[int, int, int]]()
    last: int | None = None
    for row in values:
        position = _locate(row)[1]
        before = last or 0
        if position > before + 1 or position == last:
            leaps.append((len(log.turns), before, position))
        last = position
        end = _add_row(row, log) or end
    first, made = values[0], log.conversation(session_id, "dialogflow_cx", end)
    made.language, made.start_time = as_text(first.get("language_code")), as_text(first.get("request_time"))
    made.meta = {key: first[key] for key in ("project_id", "agent_id") if key in first}
    for index, before, position in leaps:
        add_leap(made.turns[min(index, len(made.turns) - 1)], before, position, first=1)
    return made


# For example {"conversation_name": "c", "turn_position": 1, "request": {...}, "response": {...}}
register_built_in(
    "dialogflow_cx", 86, "interaction logs of Dialogflow CX (BigQuery rows)",
    lambda record: record.keys() >= {"conversation_name", "turn_position"},
    ("conversation_name", "turn_position", "request", "response"),
    events=EventReader(locate=_locate, join=_join_dialogflow), time_keys=("request_time",),
    places=(("", ANY), ("labels", ANY), *_places_in("request")),
)  # fmt: skip

_STEPLESS = kinds.key_set(
    "conversation_success output_audio_text mixed_audio play_audio telephony_transfer_call "
    "knowledge_info_card response_type channel source"
)
_ACTIONS_WITHOUT_CALLS = kinds.key_set(
    "user_utterance agent_utterance playbook_invocation playbook_transition flow_invocation flow_transition "
    "status display_name start_time complete_time sub_execution_steps event tool_use llm_call "
    "intent_match flow_state_update stt tts"
)


def _plain(value: JsonValue) -> JsonObject:
    """Returns an object, or that of a JSON text, with its keys in snake_case."""
    decoded = json_structure(value) if isinstance(value, str) else value
    return kinds.snaked(kinds.as_object(decoded))


def _add_row(row: JsonObject, log: Dialogue) -> End | None:
    """Adds a row; returns how the conversation ends, if the row says so."""
    response = _plain(row.get("response"))
    result = _plain(response.get("query_result"))
    given = _plain(_plain(row.get("request")).get("query_input"))
    heard = str(kinds.first_of(result, ("transcript", "text")) or row.get("request_utterances") or "")
    if "tool_call_result" in given:  # of a tool that the client ran
        answer = _plain(given["tool_call_result"])
        error = _plain(answer.get("error")).get("message")
        log.result(answer.get("output_parameters"), None, answer.get("action") or answer.get("tool"), error)
    else:
        asked = {
            "text": kinds.as_object(given.get("text")).get("text"),
            "audio": heard,
            "dtmf": kinds.as_object(given.get("dtmf")).get("digits"),
            "event": f"<event>{kinds.as_object(given.get('event')).get('event')}</event>",
        }
        kind = next((name for name in asked if name in given), None)
        log.user(str(asked[kind] or "") if kind else heard, row.get("request_time"))
        if kind is None and not row.get("request_utterances"):
            unknown = next((key for key in given if key != "language_code"), "a request without input")
            log.unread.part(unknown)
    has_actions = _add_calls(result, log)
    messages = list(kinds.objects(result.get("response_messages"), "responseMessages"))
    # What was sent while the agent still worked; the last response may hold it once more.
    earlier: list[JsonObject] = []
    for partial in map(_plain, kinds.objects_in(kinds.decoded(row.get("partial_responses")))):
        sent = kinds.objects_in(_plain(partial.get("query_result")).get("response_messages"))
        earlier += [message for message in sent if message not in (*earlier, *messages)]
        if not sent:
            log.unread.add(UNREAD, "partial_responses are in a form that is not read", words=True)
    messages = [*earlier, *messages]
    messages_before = len(log.turn.agent_messages)
    ends = [_message(_plain(message), log) for message in messages]
    if row.get("response_utterances") and len(log.turn.agent_messages) == messages_before:
        log.agent(str(row["response_utterances"]))
    # What a page of a flow says is its own text, or made of parameters and data stores.
    log.turn.variables = {**log.turn.variables, **kinds.as_object(result.get("parameters"))}
    if not (has_actions or log.turn.tool_calls):
        log.turn.unknown_evidence = "the log does not hold what the page of a flow took its answer from"
    if not response:
        log.unread.add(NO_ANSWER, "a row holds no response", calls=True, words=True)
    return next((end for end in reversed(ends) if end), None)


# Their tag tells several uses of one webhook apart.
_NAMES = ("webhook_display_names", "webhook_tags", "webhook_ids")


def _add_calls(result: JsonObject, log: Dialogue) -> bool:
    """Adds the calls of the agent's actions and of webhooks; returns whether the log holds any action."""
    tracing = _plain(_plain(result.get("generative_info")).get("action_tracing_info"))
    actions = list(kinds.objects(tracing.get("actions"), "actions"))
    for block in () if actions else kinds.objects(result.get("trace_blocks"), "traceBlocks"):
        actions += kinds.objects(block.get("actions"), "actions")
    for action in map(_plain, actions):
        if use := _plain(action.get("tool_use")):
            shown_name, action_name, tool = (use.get(key) for key in ("display_name", "action", "tool"))
            name = as_text(shown_name or action_name or tool)
            log.call(name, use.get("input_action_parameters") or {}, None, as_text(tool) or "")
            log.turn.tool_calls[-1].display_name = as_text(action_name) if shown_name else None
            exception = _plain(_plain(action.get("status")).get("exception"))
            if use.get("output_action_parameters") is not None or exception:
                error = exception.get("error_message") or (True if exception else None)
                log.result(use.get("output_action_parameters"), None, name, error)
        for kind in sorted(action.keys() - _ACTIONS_WITHOUT_CALLS):
            log.unread.part(kind)
    # Of the calls of webhooks several lists say what is known, in the order of the calls.
    lists = (kinds.objects_in(result.get(f"webhook_{name}")) for name in ("statuses", "payloads"))
    names = next((held for key in _NAMES if isinstance(held := result.get(key), list) and held), [])
    if calls := list(zip_longest(names, *lists)):
        lacking = "arguments" if len(names) == len(calls) else "names and arguments"
        log.unread.add(CONTENT_OFF, f"the {lacking} of webhooks are not logged", calls=True)
    for name, status, payload in calls[: len(names)]:
        log.call(name, None)
        failed = bool(_plain(status).get("code"))
        log.result(payload or None, None, name, _plain(status).get("message") or True if failed else None)
    return bool(actions)


_MARKUP = re.compile(r"<[^<>]*>")


def _message(message: JsonObject, log: Dialogue) -> End | None:
    """Adds a response message; returns how the conversation ends, if it says so."""
    end = None
    for kind, held in message.items():
        if kind == "text":
            texts = kinds.as_object(held).get("text")
            log.agent("\n".join(str(text) for text in texts) if isinstance(texts, list) else str(texts or ""))
        elif kind == "output_audio_text":
            spoken = _plain(held)
            words = str(spoken.get("text") or _MARKUP.sub("", str(spoken.get("ssml") or "")).strip())
            if words not in log.turn.agent_messages:  # as a text in writing
                log.agent(words)
        elif kind == "tool_call":
            call = _plain(held)
            name = as_text(call.get("action") or call.get("tool"))
            log.call(name, call.get("input_parameters") or {}, None, as_text(call.get("tool")) or "")
        elif kind == "live_agent_handoff":
            end = End("hand_off", "live_agent_handoff")
        elif kind == "end_interaction":
            end = End("normally", "end_interaction")
        elif kind == "payload":
            log.turn.payloads = [*log.turn.payloads, kinds.as_object(held)]
        elif kind not in _STEPLESS:
            log.unread.part(kind)
    return end


def _history(value: JsonObject, record: Record) -> Conversation:
    """Returns a conversation of Dialogflow CX's history; the API lists its interactions newest first."""
    held, log, end = _plain(value), Dialogue(), UNKNOWN
    if not held.get("interactions"):
        raise ValueError("no interactions: conversations.list leaves them out, conversations.get has them")
    rows = [_plain(item) for item in kinds.objects(held["interactions"], "interactions")]
    times = [time_seconds(row.get("create_time")) for row in rows]
    if None not in times:
        rows.sort(key=lambda row: time_seconds(row.get("create_time")) or 0.0)
        # Of several app versions the last counts, by the same order.
        value["interactions"] = rows
    for row in rows:
        end = _add_row({**row, "request_time": row.get("create_time")}, log) or end
    metrics = _plain(held.get("metrics"))
    if end == UNKNOWN and metrics.get("has_live_agent_handoff"):
        end = End("hand_off", "has_live_agent_handoff")
    elif end == UNKNOWN and metrics.get("has_end_interaction"):
        end = End("normally", "has_end_interaction")
    about = ("type", "environment", "flow_versions")
    count = metrics.get("interaction_count")
    if str(count).isdecimal() and int(str(count)) > len(rows):
        message = f"interactionCount is {count}, and the number of interactions {len(rows)}"
        log.unread.add(MISSING, message, calls=True, words=True)
    made = log.conversation(name_of(held) or record_place(record), "dialogflow_history", end)
    made.language, made.start_time = as_text(held.get("language_code")), as_text(held.get("start_time"))
    made.meta = {key: held[key] for key in about if held.get(key)}
    return made


_HISTORY = re.compile(r"/agents/[^/]+/conversations/[^/]+$")


# For example {"name": ".../agents/a/conversations/c", "interactions": [{"request": {...}, ...}]}
register_built_in(
    "dialogflow_history", 85, "conversation history of Dialogflow CX",
    lambda record: (
        bool(_HISTORY.search(name_of(record)))
        or any({"request", "response"} & item.keys() for item in kinds.objects_in(record.get("interactions")))
    ), ("name", "interactions", "duration"),
    read_log=lambda value, record, settings: [_history(kinds.as_object(value), record)],
    time_keys=("startTime", "start_time"),
    places=(("", ANY), *_places_in("interactions.request"), ("", Paths(app_version=FLOWS))),
)  # fmt: skip

_SPEAKERS = {
    **dict.fromkeys(("END_USER", "CUSTOMER", 3), kinds.USER),
    **dict.fromkeys(("AUTOMATED_AGENT", "ANY_AGENT", 2, 4), kinds.AGENT),
    **dict.fromkeys(("HUMAN_AGENT", "AGENT", 1), "person"),
}
_INSIGHTS = re.compile(r"projects/[^/]+/locations/[^/]+/conversations/[^/]+$")
_UNITS = {"create_time_nanos": 1e9, "start_timestamp_usec": 1e6}
_WORDS_ONLY = "transcripts of Insights hold words only; what the agent called is unknown"


def _segments(held: JsonObject) -> list[JsonObject]:
    """Returns the segments of a transcript: of the API, of a row of the export, of a file to be imported."""
    listed = _plain(held.get("transcript")).get("transcript_segments")
    return [_plain(item) for item in kinds.objects_in(listed or held.get("sentences") or held.get("entries"))]


def _insights(value: JsonObject, record: Record) -> Conversation:
    """Returns a conversation of Insights; what a person said after the automated agent is left out."""
    held, log, end = _plain(value), Dialogue(), None
    segments = _segments(held)
    if not segments:
        lacks = "its column `sentences` says" if "conversation_name" in held else "`view=FULL` lists"
        raise ValueError(f"no transcript that says who spoke: {lacks} it")
    channels = _plain(held.get("call_metadata"))
    spoken: list[tuple[JsonValue, JsonObject]] = []
    for segment in segments:
        # Whose words it is: of the user, of the agent, of a person, or as the log names it.
        participant = _plain(segment.get("segment_participant"))
        role = kinds.first_of({**participant, **segment}, ("participant_role", "role"))
        tag = segment.get("channel_tag")
        if role in (None, "ROLE_UNSPECIFIED", 0) and tag is not None:
            people = {channels.get("customer_channel"): kinds.USER, channels.get("agent_channel"): "person"}
            spoken.append((people.get(tag, role), segment))
        else:
            spoken.append((_SPEAKERS.get(role, role) if isinstance(role, str | int) else role, segment))
    by_speaker = groupby(spoken, lambda pair: pair[0])
    runs = [(speaker, [segment for _, segment in run]) for speaker, run in by_speaker]
    speakers = [speaker for speaker, _ in runs]
    log.general.add(CONTENT_OFF, _WORDS_ONLY, calls=True)
    if kinds.AGENT in speakers and "person" in speakers[speakers.index(kinds.AGENT) :]:
        handover = speakers.index("person", speakers.index(kinds.AGENT))
        left, end = sum(len(run) for _, run in runs[handover:]), End("hand_off", "to a person")
        log.general.add("HandOff", f"{left} segments from the hand-off to a person on are left out")
        runs = runs[:handover]
    elif "person" in speakers:
        log.general.add("HandOff", "a person is the agent of this conversation")
    for speaker, run in runs:
        text = "\n".join(str(kinds.first_of(item, ("text", "sentence")) or "") for item in run)
        if speaker == kinds.USER:
            log.user(text, _time(run[0]))
        elif speaker in (kinds.AGENT, "person"):
            log.agent(text)
        else:
            log.unread.role(speaker)
    listed = held.get("labels")
    pairs = kinds.objects_in(listed)
    labels = {str(pair.get("key")): pair.get("value") for pair in pairs} or kinds.as_object(listed)
    start = kinds.first_of(held, ("start_time", "start_timestamp", "start_timestamp_utc"))
    seconds = time_seconds(start)
    about = ("agent_id", "medium", "dialogflow_conversation_profile_id")
    # The version of the automated agent stands in the quality metadata, or in a row's column `agents`.
    agents = _plain(held.get("quality_metadata")).get("agent_info") or held.get("agents")
    about_agents = map(_plain, kinds.objects_in(agents))
    versions = (kinds.first_of(agent, ("version_id", "version_display_name")) for agent in about_agents)
    version = as_text(next(filter(None, versions), None))
    name = name_of(held) or as_text(held.get("conversation_name")) or record_place(record)
    made = log.conversation(name, "insights_conversation", end)
    made.user_id, made.language = as_text(held.get("obfuscated_user_id")), as_text(held.get("language_code"))
    made.start_time, made.labels = None if seconds is None else rfc3339(seconds), labels
    made.meta = {key: held[key] for key in about if held.get(key)} | kinds.stated({"agent_version": version})
    return made


def _time(segment: JsonObject) -> float | None:
    key = next((key for key in _UNITS if key in segment), "message_time")
    value = segment.get(key)
    try:
        return float(value or 0) / _UNITS[key] or None if key in _UNITS else time_seconds(value)
    except (TypeError, ValueError):
        return None


_OF_INSIGHTS = kinds.key_set("transcript sentences entries")


def _is_insights(record: JsonObject) -> bool:
    if _INSIGHTS.search(name_of(record)):
        return record.keys().isdisjoint(("turns", "messages"))
    if record.keys().isdisjoint(_OF_INSIGHTS):
        return False
    held = _plain(record)
    if "conversation_name" in held:
        return True
    keys = ("segment_participant",) if "transcript" in held else ("start_timestamp_usec", "role")
    return any(item.keys() >= set(keys) for item in _segments(held)[:1])


# For example {"name": ".../conversations/c", "transcript": {"transcriptSegments": [{"text": "Hi", ...}]}}
register_built_in(
    "insights_conversation", 84,
    "Contact Center (CX) Insights: conversations, BigQuery rows, transcripts for the import", _is_insights,
    ("name", "transcript", "medium"),
    other_keys=(("conversationName", "sentences", "turnCount"), ("entries", "conversation_info")),
    read_log=lambda value, record, settings: [_insights(kinds.as_object(value), record)],
    time_keys=("startTime", "start_time", "startTimestampUtc", "start_timestamp_utc"),
)  # fmt: skip


# Traces of Amazon Bedrock Agents: one record a step, by the documented schema.

_STEP_KEYS = kinds.key_set("modelInvocationInput rationale modelInvocationOutput invocationInput observation")
_POST = "postProcessingTrace"
_NO_USER = "traces of Bedrock Agents hold what the user said only inside of prompts, which are not read"


def _whole(value: JsonObject) -> JsonObject:
    """Returns a trace part: the record, or what an event of the response stream holds under `trace`."""
    inner = value.get("trace")
    return inner if isinstance(inner, dict) and "trace" in inner and "sessionId" in inner else value


def _join_bedrock(session_id: str, values: Sequence[JsonObject]) -> Conversation:
    parts = [_whole(value) for value in values]
    log, is_over = Dialogue(), True
    inner = sum(bool(part.get("collaboratorName")) for part in parts)
    for part in (part for part in parts if not part.get("collaboratorName")):
        trace = kinds.as_object(part.get("trace"))
        if is_over and _POST in trace and log.turns:
            # Its text takes the place of the final response.
            output = kinds.as_object(kinds.as_object(trace[_POST]).get("modelInvocationOutput"))
            text = kinds.as_object(output.get("parsedResponse")).get("text")
            if text:
                log.turn.agent_messages = log.turn.agent_messages[:-1]
                log.agent(str(text))
                log.finish = "stop"
            continue
        if is_over:
            log.open()
            log.failure = None
            log.turn.timestamp = part.get("eventTime")
            log.unread.add(MISSING_HISTORY, _NO_USER)
        is_over = False
        for kind, held in trace.items():
            step = kinds.as_object(held)
            if kind == "failureTrace":
                log.failure = step.get("failureReason") or "failureTrace"
                is_over = True
            elif kind in ("orchestrationTrace", "routingClassifierTrace"):
                halves = (kinds.as_object(step.get(key)) for key in ("invocationInput", "observation"))
                pieces = {name: piece for half in halves for name, piece in half.items()}
                for name, piece in pieces.items():
                    _exchange(name, piece, log)
                is_over = "finalResponse" in pieces
                metadata = kinds.as_object(kinds.as_object(step.get("modelInvocationOutput")).get("metadata"))
                log.usage(metadata.get("usage"))
                for name in sorted(step.keys() - _STEP_KEYS):
                    log.unread.part(name)
            elif kind == "guardrailTrace" and step.get("action") == "INTERVENED":
                log.failure = "guardrail_intervened"
            elif kind == "customOrchestrationTrace":
                log.unread.part(kind)
    if inner:
        log.general.add("SubAgent", f"{inner} steps of collaborators are left out")
    first, made = parts[0], log.conversation(session_id, "bedrock_agents")
    made.start_time = as_text(first.get("eventTime"))
    made.meta = {key: first[key] for key in ("agentId", "agentAliasId") if key in first}
    return made


# For example {"sessionId": "s", "trace": {"orchestrationTrace": {"observation": {"finalResponse": {...}}}}}
register_built_in(
    "bedrock_agents", 88, "traces of Amazon Bedrock Agents",
    lambda record: (
        "sessionId" in _whole(record)
        and any(kind.endswith("Trace") for kind in kinds.as_object(_whole(record).get("trace")))
    ), ("sessionId", "agentId", "eventTime", "trace"), time_keys=("eventTime",), events=EventReader(
        locate=lambda value: (str(_whole(value).get("sessionId") or ""), -1), join=_join_bedrock),
)  # fmt: skip


def _exchange(kind: str, held: JsonValue, log: Dialogue) -> None:
    """Adds a call under the kind of what it calls, or what came back of one, or the answer."""
    step = kinds.as_object(held)
    if kind == "actionGroupInvocationInput":
        name = step.get("function") or f"{step.get('verb')} {step.get('apiPath')}".strip()
        parameters = list(kinds.objects(step.get("parameters"), "parameters"))
        for fields in kinds.as_object(kinds.as_object(step.get("requestBody")).get("content")).values():
            parameters += kinds.objects(fields, "requestBody.content")
        args = {str(parameter.get("name")): _typed(parameter) for parameter in parameters}
        log.call(name, args, step.get("invocationId"), str(step.get("actionGroupName") or ""))
    elif kind == "actionGroupInvocationOutput":
        log.result(kinds.decoded(step.get("text")))
    elif kind == "knowledgeBaseLookupInput":
        base = str(step.get("knowledgeBaseId") or "")
        log.call("knowledge_base", {"text": step.get("text")}, None, base)
    elif kind == "knowledgeBaseLookupOutput":
        log.result(step.get("retrievedReferences"), None, "knowledge_base")
    elif kind == "codeInterpreterInvocationInput":
        log.call("code_interpreter", {"code": step.get("code")})
    elif kind == "codeInterpreterInvocationOutput":
        log.result(step.get("executionOutput"), None, "code_interpreter", step.get("executionError"))
    elif kind == "agentCollaboratorInvocationInput":
        text = kinds.as_object(step.get("input")).get("text")
        log.call(step.get("agentCollaboratorName"), {"input": text})
    elif kind == "agentCollaboratorInvocationOutput":
        text = kinds.as_object(step.get("output")).get("text")
        log.result(text, None, step.get("agentCollaboratorName"))
    elif kind in ("finalResponse", "repromptResponse"):
        log.agent(str(step.get("text") or ""))
        log.finish = "stop"
    elif isinstance(held, dict):
        log.unread.part(kind)


def _typed(parameter: JsonObject) -> JsonValue:
    value, kind = parameter.get("value"), parameter.get("type")
    if not isinstance(value, str) or kind not in ("integer", "number", "boolean", "array", "object"):
        return value
    if kind == "boolean":
        return {"true": True, "false": False}.get(value.lower(), value)
    try:
        return int(value) if kind == "integer" else float(value) if kind == "number" else kinds.decoded(value)
    except ValueError:
        return value
