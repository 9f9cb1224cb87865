"""The targets that turnwise has: CES evaluations, google-adk's results and eval sets, chats, its own."""

import json
from collections.abc import Iterator, Sequence
from itertools import chain, repeat

from msgspec.structs import replace

from turnwise.schemas.adk import AdkEvalCase
from turnwise.schemas.case import CaseThresholds, EvalCase
from turnwise.schemas.ces.conversation import CesToolResponse
from turnwise.schemas.config import CesConfig
from turnwise.schemas.conversation import (
    APP_DETAILS,
    Conversation,
    Expectation,
    ExpectedTurn,
    Rubric,
    ToolCall,
    ToolResponse,
    Turn,
    Usage,
)
from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json, grouped
from turnwise.schemas.rows import ScoreRow
from turnwise.transforms.ces import result
from turnwise.transforms.decisions.conversion import (
    Codec,
    RunOfConversation,
    Target,
    earlier_texts,
    plain,
    register_target,
    with_texts,
)
from turnwise.transforms.formats.adk_cases import eval_cases, invocation_turn, turn_context
from turnwise.transforms.formats.adk_formats import eval_result_conversations
from turnwise.transforms.formats.canonical import read_case, read_conversation
from turnwise.transforms.formats.ces_cases import eval_case
from turnwise.transforms.formats.ces_conversations import tool_response as read_response
from turnwise.transforms.formats.endings import context_tools
from turnwise.transforms.formats.fields import checked, one_line_problems
from turnwise.transforms.formats.identity import OF_ANY, identify
from turnwise.transforms.formats.messages.model_apis import chat_conversation
from turnwise.transforms.matching.calls import pair_responses
from turnwise.transforms.text.dates import time_seconds

_EVENT, _EVENT_END = "<event>", "</event>"
_GOALS = {"REJECTED": "USER_GOAL_REJECTED", "IGNORED": "USER_GOAL_IGNORED"}
_MADE_TURNS = ("turns.agent_messages", "turns.expectations", "turns.expected.expectations")
_MADE = frozenset(("eval_id", "display_name", "dialect", *_MADE_TURNS))


def _stated(**fields: JsonValue) -> JsonObject:
    """Returns an object of the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def _named(eval_id: str, display_name: str | None) -> JsonObject:
    """Returns the names of an Evaluation: a resource name, or else a display name."""
    if "/" in eval_id:
        return _stated(name=eval_id, displayName=display_name or None)
    return {"displayName": eval_id}


def _write_ces_conversation(conversation: Conversation) -> JsonObject:
    """Returns a golden that expects what was said and called; results are those of the fake tools."""
    record = _named(conversation.conversation_id, None) | _stated(tags=conversation.tags or None)
    turns: list[JsonObject] = []
    for turn in conversation.turns:
        expected: list[JsonObject] = [{"toolCall": result.tool_call(call)} for call in turn.tool_calls]
        if not turn.tool_calls and not turn.unknown_calls:
            expected.append({"noToolCalls": True})
        for response in turn.tool_responses:
            answer = result.tool_response(response)
            if response.response is None:
                answer.pop("response", None)
            expected.append({"mockToolResponse": answer})
        expected += [{"agentTransfer": {"targetAgent": agent}} for agent in turn.transfers]
        texts = turn.agent_messages or ([turn.agent] if turn.agent else [])
        expected += [{"agentResponse": result.agent_message(text)} for text in texts]
        steps = [*_user_steps(turn.user), *({"expectation": expectation} for expectation in expected)]
        turns.append({"steps": steps})
    return {**record, "golden": {"turns": turns}}


def _user_steps(text: str | None) -> list[JsonObject]:
    if text is None:
        return []
    if text.startswith(_EVENT) and text.endswith(_EVENT_END):
        return [{"userInput": {"event": {"event": text[len(_EVENT) : -len(_EVENT_END)]}}}]
    return [{"userInput": {"text": text}}]


def _read_ces_conversation(record: JsonObject) -> Conversation:
    case, turns = eval_case(dump_json(record), CesConfig()), []
    for index, expected in enumerate(case.turns):  # each as the turn that meets all expectations
        stated, turn = expected.expectations, Turn(turn_index=index, user=expected.user)
        turn.agent_messages = [e.text for e in stated if e.text is not None]
        turn.agent = "\n".join(turn.agent_messages) or None
        turn.tool_calls = list(expected.tool_calls or ())
        mocked = [e.wire["mockToolResponse"] for e in stated if e.wire and "mockToolResponse" in e.wire]
        turn.tool_responses = [read_response(CesToolResponse.from_value(message)) for message in mocked]
        turn.transfers = [e.target_agent for e in stated if e.target_agent is not None]
        turns.append(turn)
    return Conversation(conversation_id=case.eval_id, tags=case.tags, turns=turns)


def _write_ces_case(case: EvalCase) -> JsonObject:
    record = _named(case.eval_id, case.display_name) | _stated(tags=case.tags or None)
    if case.thresholds != CaseThresholds():
        record["evaluationMetricsThresholdOverride"] = result.case_thresholds(case.thresholds)
    # The metrics that a case switches off; those of a golden are stated together.
    tools, steps = case.tool_correctness_enabled, case.step_tool_correctness_enabled
    if not case.user_goal_enabled:
        switch: JsonObject = {"userGoalMetMetricsConfig": {"enableUserGoalMetMetrics": False}}
        record["evaluationMetricsConfigOverride"] = {"scenarioMetricsConfig": switch}
    elif not (case.similarity_enabled and tools and steps):
        switches: JsonObject = {
            "semanticSimilarityMetricsConfig": {"enableSemanticSimilarityMetrics": case.similarity_enabled},
            "toolCorrectnessMetricsConfig": {"enableToolCorrectnessMetrics": tools},
            "stepToolCorrectnessMetricsConfig": {"enableToolCorrectnessMetrics": steps},
        }
        record["evaluationMetricsConfigOverride"] = {"goldenMetricsConfig": switches}
    if case.kind == "scenario":
        message: JsonObject = {
            "task": case.task or "",
            "userFacts": [{"name": fact.name, "value": fact.value} for fact in case.user_facts],
            "rubrics": [rubric.text for rubric in case.rubrics],
            "scenarioExpectations": [result.scenario_expectation(e) for e in case.expectations],
            "evaluationExpectations": case.evaluation_expectations,
            "userGoalBehavior": _GOALS.get(case.user_goal, ""),
        }
        return {**record, "scenario": {name: value for name, value in message.items() if value}}
    if not case.turns:
        raise ValueError(f"the case {case.eval_id} has no turns, which a CES golden needs")
    turns: JsonValue = [_golden_turn(turn) for turn in case.turns]
    golden = _stated(turns=turns, evaluationExpectations=case.evaluation_expectations or None)
    return {**record, "golden": golden}


def _golden_turn(turn: ExpectedTurn) -> JsonObject:
    steps: list[JsonObject] = _user_steps(turn.user)
    steps += [{"agentTransfer": {"targetAgent": agent}} for agent in turn.scripted_transfers]
    stated = turn.expectations
    if not stated:  # calls and texts of another dialect
        stated = [Expectation(kind="tool_call", tool_call=call) for call in turn.tool_calls or ()]
        if turn.tool_calls == []:
            stated.append(Expectation(kind="no_tool_calls", wire={"noToolCalls": True}))
        texts = [*turn.intermediate_responses, *([turn.response] if turn.response else [])]
        stated += [Expectation(kind="agent_response", text=text) for text in texts]
    steps += [{"expectation": result.golden_expectation(expectation)} for expectation in stated]
    message: JsonObject = {"steps": steps}
    if (limits := turn.thresholds) is not None:
        message["turnLevelMetricsThresholdsOverride"] = _stated(
            semanticSimilaritySuccessThreshold=limits.semantic_similarity,
            overallToolInvocationCorrectnessThreshold=limits.tool_invocation,
        )
        message |= _stated(hallucinationMetricBehaviorOverride=limits.hallucination)
    return message


register_target(
    Target(
        name="ces_evaluation",
        help="CES Evaluation (proto3 JSON)",
        is_for_cases=True,
        conversation=Codec(write=_write_ces_conversation, read=_read_ces_conversation, made=_MADE),
        case=Codec(
            write=_write_ces_case, read=lambda record: eval_case(dump_json(record), CesConfig()), made=_MADE
        ),
    )
)


# google-adk's eval results as a target, which `adk web` shows.

_SUFFIX = ".evalset_result.json"
_USER, _AGENT = "user", "agent"
_STATUS = {"PASS": 1, "FAIL": 2}
_NOT_EVALUATED, _INFORMATIONAL = 3, 4
_ADK_RESULTS_MADE = frozenset(
    ("turns.inference_calls", "turns.agent_messages", "ended", "labels", "meta", "eval_id", "source", "state")
)


def _case_result(run: RunOfConversation) -> JsonObject:
    conversation, metrics = run.conversation, grouped((row["turn_index"], _metric(row)) for row in run.scores)
    pairs, events = list[JsonObject](), list[JsonObject]()
    for turn, agent in _with_agents(conversation):
        name, expected = f"turn-{turn.turn_index}", turn.expected
        if expected is not None and expected.user is None:
            expected = replace(expected, user=turn.user)
        pair = {
            "actual_invocation": _recorded_invocation(turn, agent, name),
            "expected_invocation": None if expected is None else expected_invocation(expected),
            "eval_metric_results": metrics.get(turn.turn_index, []),
        }
        pairs.append(pair)
        messages = [(_USER, content("user", {"text": turn.user}))] if turn.user else []
        messages += [(_AGENT, answer) for answer in _step_contents(turn)]
        messages += [(_AGENT, content("model", {"text": turn.agent}))] if turn.agent else []
        stamp = time_seconds(turn.timestamp) or 0.0
        for index, (author, message) in enumerate(messages):
            event = {"id": f"{name}-{index}", "invocation_id": name, "author": author, "timestamp": stamp}
            events.append({**event, "content": message})
    state = dict(conversation.state)
    if conversation.app_version is not None:
        state.setdefault("app_version", conversation.app_version)
    session = {"id": conversation.conversation_id, "app_name": run.app_name, "user_id": _USER}
    ended = max((event["timestamp"] for event in events), default=0.0)
    return {
        "eval_set_id": conversation.eval_set_id or "",
        "eval_id": conversation.eval_id or conversation.conversation_id,
        "final_eval_status": _STATUS.get(run.verdict or "", _NOT_EVALUATED),
        "overall_eval_metric_results": metrics.get(None, []),
        "eval_metric_result_per_invocation": pairs,
        "session_id": conversation.conversation_id,
        "session_details": {**session, "state": state, "events": events, "last_update_time": ended},
        "user_id": _USER,
    }


def _with_agents(conversation: Conversation) -> Iterator[tuple[Turn, JsonValue]]:
    """Yields the turns with what their agents were, as far as the log says so."""
    details = conversation.meta.get(APP_DETAILS)
    agents = details if isinstance(details, list) else []
    yield from zip(conversation.turns, chain(agents, repeat(None)), strict=False)


def _metric(row: ScoreRow) -> JsonObject:
    """Returns a score as an EvalMetricResult; why it fails or is missing is the rationale of a rubric."""
    name = f"{row['criterion']} ({row['label']})" if row["label"] else row["criterion"]
    status = _STATUS.get(row["outcome"] or "")
    if status is None:
        informs = row["value"] is not None and row["threshold"] is None
        status = _INFORMATIONAL if informs else _NOT_EVALUATED
    metric: JsonObject = {"metric_name": name, "score": row["value"], "eval_status": status}
    if row["threshold"] is not None:
        metric |= {"threshold": row["threshold"], "criterion": {"threshold": row["threshold"]}}
    why = row["explanation"] or row["reason"]
    rubrics = [{"rubric_id": row["criterion"], "rationale": why, "score": row["value"]}] if why else None
    return {**metric, "details": {"rubric_scores": rubrics}}


def _read_adk_result(record: JsonObject) -> Conversation:
    (conversation,) = eval_result_conversations(record)
    conversation.turns = with_texts(conversation.turns)
    return conversation


def _results_document(name: str, first: JsonObject) -> tuple[str, str]:
    if not name.endswith(_SUFFIX):
        raise ValueError(f"adk web lists files whose names end in {_SUFFIX}")
    stem = name.removesuffix(_SUFFIX)
    about = {
        "eval_set_result_id": stem,
        "eval_set_result_name": stem,
        "eval_set_id": first.get("eval_set_id", ""),
        "creation_timestamp": first.get("session_details", {}).get("last_update_time", 0.0),
    }
    return f'{json.dumps(about)[:-1]}, "eval_case_results": [\n', "\n]}\n"


register_target(
    Target(
        name="adk_eval_result",
        help="ADK eval result (.evalset_result.json), of logs or of the output directory of a run",
        conversation=Codec(
            write=lambda conversation: _case_result(RunOfConversation(conversation, None, (), "turnwise")),
            read=_read_adk_result,
            made=_ADK_RESULTS_MADE,
        ),
        scored=_case_result,
        document=_results_document,
    )
)


# google-adk's eval sets as a target.

_OWN_NAME = "turnwise"
_PROMPT, _PERSONA = "starting_prompt", "user_persona"
_PERSONAS = ("EXPERT", "NOVICE", "EVALUATOR")
_MADE_OF_TURNS = ("turns.inference_calls", "turns.agent_messages", "turns.speakers", "turns.tool_calls.agent")
_ADK_MADE = frozenset((*_MADE_OF_TURNS, "eval_id", "user_facts", "dialect"))


def _write_adk_conversation(conversation: Conversation) -> JsonObject:
    """Returns a conversation as google-adk adds a session to an eval set: what was said is expected."""
    turns = [_recorded_invocation(*pair) for pair in _with_agents(conversation)]
    return {"eval_id": conversation.conversation_id, "conversation": turns}


def _read_adk_conversation(record: JsonObject) -> Conversation:
    with one_line_problems("not an ADK eval case"):
        case = AdkEvalCase.model_validate(record)
    invocations = case.conversation or []
    context = turn_context(invocations)
    turns = with_texts(invocation_turn(invocation, i) for i, invocation in enumerate(invocations))
    tools = context_tools(context.get(APP_DETAILS))
    return Conversation(conversation_id=case.eval_id, turns=turns, meta=context, tools=tools)


def _write_adk_case(case: EvalCase) -> JsonObject:
    record: JsonObject = {"eval_id": case.eval_id}
    if case.kind == "scenario":
        facts = {fact.name: fact.value for fact in case.user_facts}
        scenario = {_PROMPT: facts.get(_PROMPT, case.task or ""), "conversation_plan": case.task or ""}
        if facts.get(_PERSONA) in _PERSONAS:
            scenario[_PERSONA] = facts[_PERSONA]
        record["conversation_scenario"] = scenario
    elif case.turns:
        record["conversation"] = [expected_invocation(turn) for turn in case.turns]
    else:
        raise ValueError(f"the case {case.eval_id} has no turns, which an ADK eval set needs")
    session = {"app_name": _OWN_NAME, "user_id": _OWN_NAME, "state": case.session_state}
    given = session if case.session_state else None
    record |= _stated(session_input=given, rubrics=rubrics(case.rubrics) or None)
    return record | _stated(final_session_state=case.final_session_state or None)


def _eval_set_document(name: str, first: JsonObject) -> tuple[str, str]:
    stem = json.dumps(name.split(".")[0])
    return f'{{"eval_set_id": {stem}, "name": {stem}, "eval_cases": [\n', "\n]}\n"


register_target(
    Target(
        name="adk_eval_set",
        help="ADK eval set",
        is_for_cases=True,
        conversation=Codec(write=_write_adk_conversation, read=_read_adk_conversation, made=_ADK_MADE),
        case=Codec(write=_write_adk_case, read=lambda record: eval_cases(record)[0], made=_ADK_MADE),
        document=_eval_set_document,
        key="eval_id",
    )
)


# OpenAI chat messages as a target.

_NAMED = (
    *("source", "app_version", "language", "eval_id", "eval_set_id", "user_id", "tags", "start_time"),
    *("ended", "ended_detail"),
)
_OF_META = ("task_id", "trial")
_OPENAI_MADE = frozenset(
    (
        *("source", "turns.agent_messages", "turns.tool_calls.id", "turns.tool_responses.id"),
        *("turns.tool_responses.name", "turns.user_tool_calls.id", "turns.user_tool_responses.id"),
        "turns.user_tool_responses.name",
    )
)


def _write_chat(conversation: Conversation) -> JsonObject:
    """Returns the record of a chat: messages, and beside them what the log says of the conversation."""
    record: JsonObject = {"conversation_id": conversation.conversation_id}
    record["messages"] = [m for i, turn in enumerate(conversation.turns) for m in _messages(turn, i)]
    stated = {name: getattr(conversation, name) for name in _NAMED}
    record |= {name: value for name, value in stated.items() if value}
    record |= {name: conversation.meta[name] for name in _OF_META if name in conversation.meta}
    if "reward" in conversation.labels:
        record["reward"] = conversation.labels["reward"]
    for tool in conversation.tools:
        # In OpenAI's form, or in turnwise's where it states an effect.
        declared = plain(tool)
        if tool.origin != "openai" or tool.effect is not None:
            declared.pop("origin", None)
        else:
            function = {key: declared[key] for key in ("name", "description") if key in declared}
            declared = {"type": "function", "function": function}
        record.setdefault("tools", []).append(declared)
    return record


def _read_chat(record: JsonObject) -> Conversation:
    conversation = checked(chat_conversation(record, ""))
    identify(conversation, OF_ANY, record)
    conversation.turns = with_texts(conversation.turns)
    return conversation


def _messages(turn: Turn, index: int) -> list[JsonObject]:
    """Returns the messages of a turn: the user's, earlier answers, calls, results, the final answer."""
    made = list(_made(turn.user_tool_calls, turn.user_tool_responses, "user", f"user_{index}"))
    if turn.user is not None:
        made.append({"role": "user", "content": turn.user})
    made += [{"role": "assistant", "content": text} for text in earlier_texts(turn)]
    made += _made(turn.tool_calls, turn.tool_responses, "assistant", f"call_{index}")
    usage = {} if turn.usage is None else {**_stated(model=turn.usage.model), "usage": _usage(turn.usage)}
    if usage:
        # The last message states the tokens of the turn, so that the calls before it took none of their own.
        none = _usage(Usage(0, 0))
        made = [{**m, "usage": none} if m["role"] == "assistant" else m for m in made]
    if turn.agent or usage:
        made.append({"role": "assistant", "content": turn.agent or "", **usage})
    if made and turn.timestamp is not None:
        made[0]["timestamp"] = turn.timestamp
    return made


def _made(calls: list[ToolCall], responses: list[ToolResponse], role: str, name: str) -> Iterator[JsonObject]:
    """Yields the calls of one side, and their results; every call needs an id."""
    if not calls and not responses:
        return
    ids = [call.id or f"{name}_{index}" for index, call in enumerate(calls)]
    if calls:
        functions: list[JsonObject] = [{"name": call.name} for call in calls]
        for call, function in zip(calls, functions, strict=True):
            if call.args is not None:
                function["arguments"] = json.dumps(call.args, ensure_ascii=False)
        named = zip(ids, functions, strict=True)
        made = [{"id": key, "type": "function", "function": function} for key, function in named]
        yield {"role": role, "content": None, "tool_calls": made}
    paired = {id(r): key for key, r in zip(ids, pair_responses(calls, responses), strict=True) if r}
    requestor = {"requestor": "user"} if role == "user" else {}
    for response in responses:
        value = response.response
        content = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        key = response.id or paired.get(id(response))
        message = {"role": "tool", "tool_call_id": key, "content": "" if value is None else content}
        yield {**message, **_stated(name=response.name, error=response.error), **requestor}


def _usage(usage: Usage) -> JsonObject:
    cached = _stated(cached_tokens=usage.cached_tokens)
    reasoning = _stated(reasoning_tokens=usage.reasoning_tokens)
    counts = {"prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens}
    return counts | _stated(prompt_tokens_details=cached or None, completion_tokens_details=reasoning or None)


_CHATS = Codec(write=_write_chat, read=_read_chat, made=_OPENAI_MADE)
register_target(Target(name="openai_chat", help="OpenAI chat messages", conversation=_CHATS))


# turnwise's own JSON as a target. By `turns` its record is recognised.

register_target(
    Target(
        name="turnwise",
        help="turnwise's own canonical JSON",
        conversation=Codec(
            write=lambda conversation: {"turns": [], **plain(conversation)},
            read=lambda value: read_conversation(dump_json(value)),
        ),
        case=Codec(write=plain, read=lambda value: read_case(dump_json(value))),
    )
)


# google-adk's contents, invocations and rubrics as JSON, in snake case.


def content(role: str, *parts: JsonObject) -> JsonObject:
    """Returns a Content."""
    return {"role": role, "parts": list(parts)}


def _function_calls(calls: Sequence[ToolCall]) -> list[JsonObject]:
    return [{"function_call": _stated(id=call.id, name=call.name, args=call.args)} for call in calls]


def _recorded_invocation(turn: Turn, app_details: JsonValue, name: str = "") -> JsonObject:
    """Returns a recorded turn as an Invocation: calls, results and earlier texts are its steps."""
    steps: list[JsonObject] = [{"author": _AGENT, "content": content} for content in _step_contents(turn)]
    number = turn.inference_calls if turn.inference_calls is not None else int(turn.usage is not None)
    while len(steps) < number:
        steps.append({"author": _AGENT})
    for step in steps[:number]:
        step["usage_metadata"] = {}
    if number and (usage := turn.usage):
        spoken = usage.output_tokens
        if spoken is not None and usage.reasoning_tokens is not None:
            spoken -= usage.reasoning_tokens
        steps[0]["usage_metadata"] = _stated(
            prompt_token_count=usage.input_tokens,
            candidates_token_count=spoken,
            thoughts_token_count=usage.reasoning_tokens,
            cached_content_token_count=usage.cached_tokens,
        )
        if usage.model:
            steps[0]["model_version"] = usage.model
    invocation = _invocation(turn.user, turn.agent or "", turn.adk_text, steps)
    invocation["invocation_id"] = name
    if isinstance(turn.timestamp, int | float):
        invocation["creation_timestamp"] = turn.timestamp
    for part, value in (("", turn.latency_ms), ("model_", turn.model_ms), ("tool_", turn.tool_ms)):
        if value is not None:
            invocation[f"{part}duration"] = value / 1000
    if isinstance(app_details, dict):
        agents = {agent: {"name": agent, **content} for agent, content in app_details.items()}
        invocation["app_details"] = {"agent_details": agents}
    return invocation


def _step_contents(turn: Turn) -> list[JsonObject]:
    """Returns the calls of a turn, their results and its earlier texts as Contents."""
    calls, answers = _function_calls(turn.tool_calls), []
    for answer in turn.tool_responses:
        # An answer that is no object stands under `result`, as in google-adk.
        value = answer.response if isinstance(answer.response, dict | None) else {"result": answer.response}
        answers.append({"function_response": _stated(id=answer.id, name=answer.name, response=value)})
    contents = [content(role, *parts) for role, parts in (("model", calls), ("user", answers)) if parts]
    return [*contents, *(content("model", {"text": text}) for text in earlier_texts(turn))]


def expected_invocation(turn: ExpectedTurn) -> JsonObject:
    """Returns an expected turn as an Invocation."""
    contents = [content("model", *_function_calls(turn.tool_calls))] if turn.tool_calls else []
    contents += [content("model", {"text": text}) for text in turn.intermediate_responses]
    steps: list[JsonObject] = [{"author": _AGENT, "content": step} for step in contents]
    invocation = _invocation(turn.user, turn.response or "", turn.adk_text, steps)
    if turn.tool_calls is None and not steps and "final_response" not in invocation:
        del invocation["intermediate_data"]  # so that nothing is stated of calls
    if turn.rubrics:
        invocation["rubrics"] = rubrics(turn.rubrics)
    return invocation


def rubrics(stated: Sequence[Rubric]) -> list[JsonObject]:
    """Returns rubrics."""
    texts = ((rubric, {"text_property": rubric.text}) for rubric in stated)
    return [_stated(rubric_id=r.rubric_id, rubric_content=text, type=r.type or None) for r, text in texts]


def _invocation(user: str | None, agent: str, adk_text: str | None, steps: list[JsonObject]) -> JsonObject:
    words = [{"text": user}] if user else []
    invocation: JsonObject = {"invocation_id": "", "user_content": content("user", *words)}
    thought = (adk_text or "").removesuffix(agent).removesuffix("\n")
    parts = [{"text": thought, "thought": True}] if thought else []
    parts += [{"text": agent}] if agent else []
    final = {"final_response": content("model", *parts)} if parts else {}
    return invocation | final | {"intermediate_data": {"invocation_events": steps}}
