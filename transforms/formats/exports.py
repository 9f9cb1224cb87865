"""Conversations in layouts of other programs, each turned into chat messages, or into items of Responses."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation, Record
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.endings import as_text, split_actions
from turnwise.transforms.formats.fields import AGENT_ERROR, canonical, gaps, read_each
from turnwise.transforms.formats.identity import ANY, OF_ANY, Paths
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.kinds import (
    as_object,
    decoded,
    first_of,
    key_set,
    objects_in,
    stated,
)
from turnwise.transforms.formats.messages.messages_base import DIALECTS, MISSING_HISTORY, conversation
from turnwise.transforms.formats.registry import ReadSettings, Test, record_place, register_built_in

_Chats: TypeAlias = Callable[[JsonObject], Iterator[JsonObject]]
_ERRORS = "_errors"
"""Key of a chat with the errors beside its messages: the turn, the text, and whether it has an answer.

One of another kind than an error of the agent names it, and leaves calls unknown."""


def _reads(
    name: str,
    help: str,
    recognises: Test,
    keys: tuple[str, ...],
    known: str = "",
    dialect: str = "openai_chat",
    has_calls: bool = True,
    **more: Any,
) -> Callable[[_Chats], _Chats]:
    """Adds a format whose records a function turns into chats of a dialect; `more` is for `Format`.

    In the chats other keys of the record stay, so that what is not read is reported: all but `keys`, and
    those of `known`, which hold neither words nor calls.
    """
    left_out = key_set(known) | set(keys)
    missing = [] if has_calls else [f"{help} hold words only; what the agent called is unknown"]

    def read_chat(chat: JsonObject, beside: JsonObject, fallback_id: str) -> Conversation:
        held, log = {**beside, "source": name, **stated(chat)}, Dialogue()
        errors = objects_in(held.pop(_ERRORS, []))
        DIALECTS[dialect].read(held.pop("messages"), log)
        made = conversation(DIALECTS[dialect], log, held, fallback_id)
        for error in errors if made.turns else ():
            kind, is_lost = str(error.get("kind") or AGENT_ERROR), not error["is_answered"]
            unread = gaps(kind, [str(error["text"])], calls="kind" in error, words=is_lost)
            unread.add_to(made.turns[min(int(str(error["turn"])), len(made.turns) - 1)])
        made.labels = as_object(held.get("labels"))
        made.app_version, made.eval_id, made.eval_set_id = (as_text(held.get(key)) for key in Paths._fields)
        gaps("ContentNotRecorded", missing, words=False).add_to_all(made.turns)
        return made

    def register(chats: _Chats) -> _Chats:
        def read(value: JsonValue, record: Record, _: ReadSettings) -> list[Conversation | ValueError]:
            beside = {key: item for key, item in as_object(value).items() if key not in left_out}
            # Events of OpenHands may be a list of their own.
            given = {"events": value} if isinstance(value, list) else as_object(value)
            return read_each(chats(given), lambda chat: read_chat(chat, beside, record_place(record)))

        places = (*OF_ANY, *((key, ANY) for key in ("extra", "additional_metadata", "slots")))
        register_built_in(name, 60, help, recognises, keys, read_log=read, places=places, **more)
        return chats

    return register


def _call(name: JsonValue, args: JsonValue, call_id: JsonValue = None) -> JsonObject:
    return {"id": as_text(call_id), "name": as_text(name), "arguments": args}


def _agent(text: JsonValue, *calls: JsonObject, **more: JsonValue) -> JsonObject:
    return {"role": "assistant", "content": text, "tool_calls": [*calls], **more}


def _result(content: JsonValue, call_id: JsonValue, error: JsonValue = None) -> JsonObject:
    return {"role": "tool", "content": content, "tool_call_id": as_text(call_id) or "?", "error": error}


def _first(value: JsonObject, key: str) -> JsonObject:
    """Returns the first element of a list, if it is an object."""
    held = value.get(key)
    return as_object(held[0]) if isinstance(held, list) and held else {}


# tau2's results: runs of tasks, and the tasks that they are held against.
def _cases_of_tau2(value: JsonValue, record: Record, _: ReadSettings) -> Sequence[EvalCase | ValueError]:
    held = as_object(value)
    domain = as_object(as_object(held.get("info")).get("environment_info")).get("domain_name")

    def case(task: JsonObject) -> EvalCase:
        wanted = as_object(task.get("evaluation_criteria"))
        by_agent, by_user = split_actions(wanted.get("actions") or [])
        unread = "env_assertions of tau2, which need its environment"
        fields: JsonObject = {"eval_id": as_text(task.get("id")), "eval_set_id": as_text(domain)}
        fields |= {"actions": by_agent, "user_actions": by_user}
        fields["outputs"] = wanted.get("communicate_info") or []
        fields["evaluation_expectations"] = wanted.get("nl_assertions") or []
        fields["unread"] = unread if wanted.get("env_assertions") else None
        return canonical(EvalCase, fields, "not a task of tau2")

    return read_each(objects_in(held.get("tasks")), case)


# For example {"info": {}, "tasks": [{"id": "7"}], "simulations": [{"task_id": "7", "messages": [...]}]}
@_reads(
    "tau2_results", "results of tau2: the runs as logs, the tasks as eval cases",
    lambda record: "simulations" in record and "tasks" in record,
    ("timestamp", "info", "tasks", "simulations"), read_cases=_cases_of_tau2,
)  # fmt: skip
def _of_tau2(results: JsonObject) -> Iterator[JsonObject]:
    info = as_object(results.get("info"))
    domain = as_object(info.get("environment_info")).get("domain_name")
    for run in objects_in(results.get("simulations")):
        reward = as_object(run.get("reward_info"))
        chat = {key: run.get(key) for key in ("id", "start_time", "termination_reason")}
        chat |= {"eval_id": run.get("task_id"), "eval_set_id": domain}
        chat["app_version"] = as_object(info.get("agent_info")).get("llm")
        chat["tags"] = [f"trial {run['trial']}"] if "trial" in run else []
        chat["labels"] = {"reward": reward["reward"]} if "reward" in reward else {}
        chat["messages"] = [
            # The model's own reply repeats what a message holds.
            {key: item for key, item in message.items() if key not in ("raw_data", "turn_idx", "cost")}
            for held in objects_in(run.get("messages"))
            for message in (objects_in(held.get("tool_messages")) or [held])
            if message.get("content") != "###STOP###"
        ]
        yield chat


# The state of a run of the OpenAI Agents SDK, which is kept while somebody approves a call.
# For example {"$schemaVersion": "1.0", "original_input": "Hi", "generated_items": [{"raw_item": {...}}]}
@_reads(
    "openai_run_state", "states of runs of the OpenAI Agents SDK (RunState)",
    lambda record: "$schemaVersion" in record and bool(record.keys() & {"original_input", "originalInput"}),
    ("$schemaVersion", "original_input", "generated_items"),
    "originalInput generatedItems model_responses modelResponses current_agent currentAgent current_step "
    "currentStep context last_agent lastModelResponse last_model_response last_processed_response "
    "lastProcessedResponse trace currentAgentSpan current_agent_span tool_use_tracker toolUseTracker "
    "input_guardrail_results inputGuardrailResults output_guardrail_results outputGuardrailResults "
    "tool_input_guardrail_results tool_output_guardrail_results toolInputGuardrailResults "
    "toolOutputGuardrailResults session_items conversationId previousResponseId", dialect="openai_responses",
)  # fmt: skip
def _of_run_state(state: JsonObject) -> Iterator[JsonObject]:
    given = first_of(state, ("original_input", "originalInput"))
    items = [{"role": "user", "content": given}] if isinstance(given, str) else objects_in(given)
    for item in objects_in(first_of(state, ("generated_items", "generatedItems"))):
        raw = as_object(first_of(item, ("raw_item", "rawItem")))
        raw.pop("providerData", None)
        if str(item.get("type")).startswith("tool_approval"):
            continue  # The call that waits for approval stands before it.
        # The SDK for JavaScript writes `callId` and `function_call_result`.
        if raw.get("type") == "function_call_result":
            output = as_object(raw.get("output"))
            text = output.get("text") if output.get("type") == "text" else raw.get("output")
            raw = JsonObject(type="function_call_output", call_id=raw.get("callId"), output=text)
        items.append({"call_id" if key == "callId" else key: held for key, held in raw.items()})
    yield {"messages": items, "conversation_id": first_of(state, ("conversation_id", "conversationId"))}


# ChatGPT's export: a tree of messages, of which the branch that ends in `current_node` counts.
# For example {"title": "t", "mapping": {"1": {"message": {...}, "parent": null}}, "current_node": "1"}
@_reads(
    "chatgpt_export", "ChatGPT's export (conversations.json)",
    lambda record: isinstance(record.get("mapping"), dict) and "current_node" in record,
    ("title", "mapping", "current_node"),
    "id conversation_id plugin_ids moderation_results safe_urls blocked_urls disabled_tool_ids",
)  # fmt: skip
def _of_chatgpt(export: JsonObject) -> Iterator[JsonObject]:
    nodes = as_object(export.get("mapping"))
    branch: list[JsonObject] = []
    at, seen = as_text(export.get("current_node")), set[str]()
    while at in nodes and at not in seen:
        seen.add(at)
        branch.append(as_object(as_object(nodes[at]).get("message")))
        at = as_text(as_object(nodes[at]).get("parent"))
    messages: list[JsonObject] = []
    call_id: JsonValue = None
    for message in reversed(branch):
        role, message_id = as_object(message.get("author")).get("role"), message.get("id")
        is_hidden = as_object(message.get("metadata")).get("is_visually_hidden_from_conversation")
        content, tool = as_object(message.get("content")), message.get("recipient") or "all"
        kind, held = content.get("content_type"), content.get("parts")
        text = first_of(content, ("text", "result"))
        if isinstance(held, list):
            texts = [part for part in held if isinstance(part, str)]
            text = "\n".join(texts)
            if len(texts) < len(held):  # what holds more than texts stays a list
                types = (str(as_object(part).get("content_type")).partition("_")[0] for part in held)
                parts = zip(held, types, strict=True)
                text = [part if isinstance(part, str) else {"type": media} for part, media in parts]
        if role == "tool":
            messages.append(_result(text, call_id))
        elif role == "assistant" and tool != "all":
            call_id = message_id
            args = decoded(text) if isinstance(text, str) else None
            args = args if isinstance(args, dict) else {"input": text}
            messages.append(_agent(None, _call(tool, args, message_id)))
        elif message and not is_hidden and role != "system" and kind not in _CHATGPT_THOUGHTS:
            messages.append({"role": role, "content": text})
    name, start = first_of(export, ("conversation_id", "id")), as_text(export.get("create_time"))
    others = [n for n in nodes if n not in seen and as_object(nodes[n]).get("message")]
    yield {"conversation_id": name, "messages": messages, "start_time": start, "other_branches": others}


_CHATGPT_THOUGHTS = ("thoughts", "reasoning_recap", "user_editable_context", "model_editable_context")


# Chats of the Gemini CLI.
# For example {"sessionId": "s", "projectHash": "p", "messages": [{"type": "gemini", "content": "Hi"}]}
@_reads(
    "gemini_cli", "chats of the Gemini CLI",
    lambda record: record.keys() >= {"sessionId", "projectHash"} and isinstance(record.get("messages"), list),
    ("sessionId", "projectHash", "messages"), "directories",
)  # fmt: skip
def _of_gemini_cli(session: JsonObject) -> Iterator[JsonObject]:
    messages: list[JsonObject] = []
    failed: list[tuple[int, str]] = []
    for message in objects_in(session.get("messages")):
        kind, content = message.get("type"), message.get("content")
        if kind in ("info", "warning"):
            continue
        if kind == "error":
            turns_before = sum(entry["role"] == "user" for entry in messages) - 1
            failed.append((max(turns_before, 0), as_text(content) or kind))
            continue
        if kind != "gemini":
            messages.append({"role": kind, "content": content, "timestamp": message.get("timestamp")})
            continue
        made = objects_in(message.get("toolCalls"))
        calls = [_call(call.get("name"), call.get("args"), call.get("id")) for call in made]
        tokens = as_object(message.get("tokens"))
        usage = {f"{kind}_tokens": tokens.get(kind) for kind in ("input", "output", "cached")}
        messages.append(_agent(content, *calls, usage=usage if tokens else None))
        for call in made:
            results = objects_in(call.get("result"))
            answers = [as_object(as_object(r.get("functionResponse")).get("response")) for r in results]
            if answers or call.get("status") not in (None, "success"):
                answer = answers[0] if answers else {}
                output = answer.get("output", answer or None)
                state = call.get("status") if call.get("status") in ("error", "cancelled") else None
                messages.append(_result(output, call.get("id"), answer.get("error") or state))
    # Whether each turn ends with words, of which an error takes nothing away.
    answered: list[bool] = []
    for entry in messages:
        is_answer = entry["role"] == "assistant" and bool(entry["content"]) and not entry.get("tool_calls")
        answered = [*(answered if entry["role"] == "user" else answered[:-1]), is_answer]
    ends = ((index, text, any(answered[index : index + 1])) for index, text in failed)
    errors = [JsonObject(turn=index, text=text, is_answered=is_answered) for index, text, is_answered in ends]
    at_end = (e["text"] for e in errors if e["turn"] == len(answered) - 1 and not e["is_answered"])
    about = {"conversation_id": session.get("sessionId"), "start_time": session.get("startTime")}
    yield {**about, "messages": messages, "error": next(at_end, None), _ERRORS: errors}


# SWE-agent's trajectories, and those of its small successor: what the model was sent, in order.

_COMMAND = re.compile(r"```(?:mswea_bash_command|bash)\s*\n(.*?)\n```", re.DOTALL)
_SWE_LIMITS = ("exit_cost", "exit_context", "execution_time", "LimitsExceeded")


# For example {"history": [{"role": "assistant", "thought": "t", "action": "ls"}], "trajectory": []}
@_reads(
    "swe_agent", "SWE-agent's trajectories (.traj), and mini-SWE-agent's",
    lambda record: (
        (isinstance(record.get("trajectory"), list) and isinstance(record.get("history"), list))
        or str(record.get("trajectory_format")).startswith("mini-swe-agent")
    ), ("history", "trajectory", "info"), "replay_config environment",
)  # fmt: skip
def _of_swe_agent(held: JsonObject) -> Iterator[JsonObject]:
    messages: list[JsonObject] = []
    waiting: list[str] = []
    for index, message in enumerate(objects_in(first_of(held, ("history", "messages")))):
        role, content = message.get("role"), message.get("content")
        is_example = message.get("message_type") == "demonstration" or message.get("is_demo")
        if is_example or role in ("system", "exit"):
            continue
        if role == "assistant":
            calls = objects_in(message.get("tool_calls"))
            block = _COMMAND.search(content) if isinstance(content, str) and "history" not in held else None
            action = block[1] if block else message.get("action")
            if not calls and isinstance(action, str) and action.strip():
                calls = [_call("bash", {"command": action.strip()}, f"step-{index}")]
            waiting = [str(call.get("id")) for call in calls]
            text = first_of(message, ("thought", "content"))
            spoken = _COMMAND.sub("", text).strip() if block and isinstance(text, str) else text
            messages.append(_agent(spoken, *calls))
        elif waiting:
            # All that follows an action is what it showed, whoever is said to have sent it.
            ids, waiting_id = message.get("tool_call_ids"), waiting.pop(0)
            messages.append(_result(content, ids[0] if isinstance(ids, list) and ids else waiting_id))
        else:
            messages.append({"role": role, "content": content})
    status = as_object(held.get("info")).get("exit_status")
    ended = "normally" if str(status).lower() == "submitted" else "agent_error" if status else None
    if any(word in str(status) for word in _SWE_LIMITS):  # such as `submitted (exit_cost)`
        ended = "limit"
    yield {"messages": messages, "ended_detail": status, "ended": ended}


# LiveKit's reports of sessions, of which the chat context is read.
_CONTEXTS = ("chat_history", "chat_ctx", "chat_context", "history")


# For example {"room": "r", "chat_history": {"items": [{"type": "message", ...}]}, "events": []}
@_reads(
    "livekit_report", "LiveKit's reports of sessions, and its chat contexts",
    lambda record: any("items" in as_object(record.get(key)) for key in _CONTEXTS),
    ("job_id", "room", "chat_history", "events"),
    "options report_metadata usage model_usage chat_ctx chat_context history", dialect="openai_responses",
)  # fmt: skip
def _of_livekit(report: JsonObject) -> Iterator[JsonObject]:
    items = as_object(first_of(report, _CONTEXTS)).get("items")
    room = first_of(report, ("room_id", "room", "room_name", "job_id"))
    yield {"messages": objects_in(items), "conversation_id": room}


# OpenHands: events of a session, in the layout of its first versions and in that of its SDK.
_OPENHANDS_STATUS = ("execution_status", "agent_status")


def _is_openhands(event: JsonObject) -> bool:
    if event.get("source") not in ("user", "agent", "environment"):
        return False
    is_first = event.keys() & {"action", "observation"} and event.keys() & {"args", "extras", "cause"}
    return bool(is_first) or str(event.get("kind")).endswith(("Event", "Observation"))


# For example [{"source": "user", "action": "message", "args": {"content": "Hi"}}, {"source": "agent", ...}]
@_reads(
    "openhands", "events of OpenHands, and results of its evaluations (output.jsonl)",
    lambda record: _is_openhands(record) or any(map(_is_openhands, _events_of(record)[:3])),
    ("instance_id", "history", "metadata"),
    "trajectory events messages instruction instance test_result git_patch metrics error llm_completions",
    is_list=_is_openhands, is_lines=_is_openhands,
)  # fmt: skip
def _of_openhands(record: JsonObject) -> Iterator[JsonObject]:
    messages: list[JsonObject] = []
    error = state = None
    for event in _events_of(record):
        messages += _of_sdk_event(event) if "kind" in event else _of_event(event)
        # What the agent does after an error shows that the error did not end the run.
        acts = event.get("source") == "agent" and ("action" in event or event.get("kind") == "MessageEvent")
        acts = acts or event.get("tool_name") == "finish"
        extras, is_status = as_object(event.get("extras")), event.get("key") in _OPENHANDS_STATUS
        now = as_text(event.get("value")) if is_status else None
        if event.get("observation") == "agent_state_changed":
            now = as_text(extras.get("agent_state"))
        if now in ("error", "stuck"):
            error = as_text(extras.get("reason")) or f"state {now}"
        elif event.get("kind") in ("ConversationErrorEvent", "ServerErrorEvent"):
            shown = filter(None, (event.get(key) for key in ("code", "detail")))
            error = ": ".join(map(str, shown)) or event["kind"]
        elif event.get("observation") == "error" or event.get("kind") == "AgentErrorEvent":
            # That of a call ends a run in which nothing follows it.
            error = as_text(first_of(event, ("content", "error"))) or "error"
        elif acts:
            error = None
        state = now or state
    error = record.get("error") or error
    name = first_of(record, ("instance_id", "session_id", "id"))
    ended = "normally" if state == "finished" and not error else None
    yield {"conversation_id": name, "messages": messages, "error": error, "ended": ended}


def _events_of(record: JsonObject) -> list[JsonObject]:
    """Returns the events of a record; older results pair an action with its observation."""
    events = first_of(record, ("history", "trajectory", "events"))
    held = events if isinstance(events, list) else []
    return objects_in([event for item in held for event in (item if isinstance(item, list) else [item])])


_SILENT = key_set(
    "system recall change_agent_state agent_state_changed null condensation condensation_request "
    "task_tracking_state"
)


def _of_event(event: JsonObject) -> Iterator[JsonObject]:
    action, seen = event.get("action"), event.get("observation")
    args, source = as_object(event.get("args")), event.get("source")
    by_model = as_object(event.get("tool_call_metadata"))
    call_id = as_text(by_model.get("tool_call_id"))
    is_of_call = event.get("cause") is not None or event.get("tool_call_metadata")
    is_of_run = (seen == "error" and not is_of_call) or (source == "environment" and action is not None)
    if action == "think" or action in _SILENT or seen in _SILENT or is_of_run:
        return
    if action in ("message", "finish"):
        text = first_of(args, ("content", "final_thought", "thought")) or event.get("message")
        yield {"role": "user" if source == "user" else "assistant", "content": text}
    elif isinstance(action, str):
        given = {key: item for key, item in args.items() if key not in _OF_ACTIONS}
        reply = _first(as_object(by_model.get("model_response")), "choices")
        calls = objects_in(as_object(reply.get("message")).get("tool_calls"))
        asked = next((call for call in calls if call.get("id") == call_id), None)
        event_id = call_id or as_text(event.get("id"))
        name = by_model.get("function_name") or action
        yield _agent(args.get("thought") or None, asked or _call(name, given, event_id))
    elif isinstance(seen, str):
        extras = as_object(event.get("extras"))
        code = first_of(extras, ("exit_code",)) or as_object(extras.get("metadata")).get("exit_code")
        error = "error" if seen == "error" else f"exit code {code}" if code not in (None, 0, -1) else None
        yield _result(event.get("content"), call_id or event.get("cause"), error)
    elif event:
        yield {"role": str(event.get("type") or "event"), **event}


_OF_ACTIONS = key_set("thought blocking confirmation_state is_confirmed hidden security_risk")


def _of_sdk_event(event: JsonObject) -> Iterator[JsonObject]:
    kind, call_id = str(event.get("kind")), event.get("tool_call_id")
    if kind == "MessageEvent":
        message = as_object(event.get("llm_message"))
        yield {"role": message.get("role"), "content": message.get("content")}
    elif kind == "ActionEvent":
        action = {k: v for k, v in as_object(event.get("action")).items() if k != "kind"}
        asked = as_object(event.get("tool_call"))
        thought = "\n".join(str(part.get("text") or "") for part in objects_in(event.get("thought")))
        name = event.get("tool_name")
        if name == "finish":
            yield _agent(first_of(action, ("message",)) or thought)
        elif name != "think":
            args = first_of(as_object(asked.get("function")) or asked, ("arguments",)) or action
            yield _agent(thought or None, _call(name, args, call_id))
    elif kind in ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation"):
        if event.get("tool_name") in ("finish", "think"):
            return
        seen = as_object(event.get("observation"))
        error = first_of(event, ("error", "rejection_reason")) or (seen.get("is_error") or None)
        content = first_of(seen, ("content", "output")) or first_of(event, ("error", "rejection_reason"))
        yield _result(content, call_id, error)
    elif kind not in ("SystemPromptEvent", "ConversationStateUpdateEvent", "PauseEvent", "Condensation",
                      "CondensationRequest", "TokenEvent", "LLMCompletionLogEvent", "ConversationErrorEvent",
                      "ServerErrorEvent"):  # fmt: skip
        yield {"role": kind, "content": None}


# ATIF, the format of trajectories of Harbor.
# For example {"schema_version": "ATIF-v1.4", "agent": {...}, "steps": [{"source": "user", "message": "Hi"}]}
@_reads(
    "atif", "trajectories of Harbor (ATIF)",
    lambda record: str(record.get("schema_version")).startswith("ATIF"),
    ("schema_version", "session_id", "agent", "steps"),
    "trajectory_id notes final_metrics extra continued_trajectory_ref subagent_trajectories",
)  # fmt: skip
def _of_atif(held: JsonObject) -> Iterator[JsonObject]:
    agent = as_object(held.get("agent"))
    messages: list[JsonObject] = []
    for step in objects_in(held.get("steps")):
        source, metrics = step.get("source"), as_object(step.get("metrics"))
        if source != "agent":
            message, time = step.get("message"), step.get("timestamp")
            messages.append({"role": source, "content": message, "timestamp": time})
        else:
            called = objects_in(step.get("tool_calls"))
            calls = (_call(c.get("function_name"), c.get("arguments"), c.get("tool_call_id")) for c in called)
            messages.append(_agent(step.get("message") or None, *calls, usage=metrics or None))
        for seen in objects_in(as_object(step.get("observation")).get("results")):
            if source == "agent" and step.get("tool_calls"):
                # What another agent did stands in its own trajectory.
                elsewhere = {key: seen[key] for key in ("subagent_trajectory_ref",) if seen.get(key)}
                messages.append({**_result(seen.get("content"), seen.get("source_call_id")), **elsewhere})
    next_one = held.get("continued_trajectory_ref")
    goes_on = f"the trajectory goes on in {str(next_one)[:80]!r}, which is not read"
    lost: JsonObject = {"turn": len(messages), "text": goes_on, "is_answered": False, "kind": MISSING_HISTORY}
    about = {"conversation_id": first_of(held, ("session_id", "trajectory_id"))}
    about |= {"app_version": agent.get("version"), "tools": agent.get("tool_definitions")}
    yield {**about, _ERRORS: [lost] if next_one else None, "messages": messages}


# Azure's evaluations of agents: what was asked and what was answered, as texts or lists of messages.
# For example {"query": [{"role": "user", "content": "Hi"}], "response": "Hello", "tool_definitions": []}
@_reads(
    "azure_evaluation", "rows of Azure AI's evaluations of agents",
    lambda record: (
        record.keys() >= {"query", "response"}
        and any(key == "tool_definitions" or "role" in _first(record, key) for key in record)
    ), ("query", "response", "tool_definitions"), "tool_calls ground_truth", dialect="azure_messages",
)  # fmt: skip
def _of_azure(row: JsonObject) -> Iterator[JsonObject]:
    messages: list[JsonObject] = []
    for key, role in (("query", "user"), ("response", "assistant")):
        held = decoded(row.get(key))
        messages += [{"role": role, "content": held}] if isinstance(held, str) else objects_in(held)
    yield {"messages": messages, "tools": row.get("tool_definitions")}


# DeepEval's conversational test cases.
# For example {"turns": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}
@_reads(
    "deepeval", "conversational test cases of DeepEval, and other messages under turns",
    lambda record: _first(record, "turns").keys() >= {"role", "content"},
    ("turns", "scenario", "chatbot_role"),
    "name expected_outcome user_description context additional_metadata retrieval_context",
)  # fmt: skip
def _of_deepeval(record: JsonObject) -> Iterator[JsonObject]:
    messages: list[JsonObject] = []
    for turn in objects_in(record.get("turns")):
        calls = [
            {**_call(call.get("name"), call.get("input_parameters")), "output": call.get("output")}
            for call in objects_in(turn.get("tools_called"))
        ]
        messages.append({"role": turn.get("role"), "content": turn.get("content"), "tool_calls": calls})
    yield {"messages": messages, "id": record.get("name"), "user_id": first_of(record, ("user_id",))}


# Rasa's trackers: what was said is the conversation, and actions beside answers are calls.
# For example {"sender_id": "u", "events": [{"event": "user", "text": "Hi"}, {"event": "bot", ...}]}
@_reads(
    "rasa_tracker", "trackers of Rasa",
    lambda record: record.keys() >= {"sender_id", "events"} and "event" in _first(record, "events"),
    ("sender_id", "slots", "events"), "latest_message active_loop latest_action",
)  # fmt: skip
def _of_rasa(tracker: JsonObject) -> Iterator[JsonObject]:
    messages: list[JsonObject] = []
    for event in objects_in(tracker.get("events")):
        kind, name = event.get("event"), str(event.get("name"))
        text, data = event.get("text"), as_object(event.get("data"))
        if kind in ("user", "bot") or text:
            # What has no text may be shown in another way, such as a picture or the JSON of a custom channel.
            content = [{"type": f"{key}_data"} for key in data] if kind == "bot" and not text else text
            messages.append({"role": kind, "content": content, "timestamp": event.get("timestamp")})
        elif kind == "action" and not name.startswith(_RASA_TALK):
            messages.append(_agent(None, _call(name, {})))
    yield {"conversation_id": tracker.get("sender_id"), "messages": messages}


_RASA_TALK = ("utter_", "action_listen", "action_session_start", "action_restart", "action_unlikely_intent")


# Amazon Connect's Contact Lens.
# For example {"Participants": [{"ParticipantRole": "CUSTOMER", ...}], "Transcript": [{"Content": "Hi", ...}]}
@_reads(
    "contact_lens", "transcripts of Amazon Connect's Contact Lens",
    lambda record: record.keys() >= {"Participants", "Transcript"},
    ("Participants", "Transcript", "CustomerMetadata"),
    "Categories ContentMetadata ConversationCharacteristics ContactSummary Sentiment JobDetails",
    has_calls=False,
)  # fmt: skip
def _of_contact_lens(held: JsonObject) -> Iterator[JsonObject]:
    roles = {p.get("ParticipantId"): p.get("ParticipantRole") for p in objects_in(held.get("Participants"))}
    named = {"CUSTOMER": "user", "AGENT": "assistant", "CUSTOM_BOT": "assistant", "SYSTEM": "system"}
    messages: list[JsonObject] = []
    for entry in objects_in(held.get("Transcript")):
        if entry.get("Type", "MESSAGE") == "MESSAGE":
            role = roles.get(entry.get("ParticipantId"), entry.get("ParticipantId"))
            role = named.get(role, role) if isinstance(role, str) else None
            messages.append({"role": role, "content": entry.get("Content")})
    name = as_object(held.get("CustomerMetadata")).get("ContactId")
    yield {"conversation_id": name, "language": held.get("LanguageCode"), "messages": messages}
