"""Converts google-adk's eval sets and invocations."""

from collections.abc import Sequence

from turnwise.schemas.adk import (
    AdkEvalCase,
    AdkRubric,
    AppDetails,
    Content,
    ConversationScenario,
    EvalSet,
    IntermediateData,
    Invocation,
    InvocationEvent,
    InvocationEvents,
    Part,
)
from turnwise.schemas.case import EvalCase, UserFact
from turnwise.schemas.conversation import APP_DETAILS, GROUNDING, ExpectedTurn, Rubric, ToolCall, Turn
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.adk import content as adk_content
from turnwise.transforms.formats.adk.content import (
    AdkUnread,
    adk_text,
    text,
    tool_calls,
    tool_responses,
    unread_content,
)
from turnwise.transforms.formats.problems import one_line_problems
from turnwise.transforms.formats.spellings import length
from turnwise.transforms.formats.tool_declarations import context_tools
from turnwise.transforms.formats.unread import UNREAD


def eval_cases(value: JsonValue) -> list[EvalCase]:
    """Returns the cases of an eval set, or of one eval case.

    Raises:
        ValueError: google-adk would refuse it; one line with the path of the first problem.
    """
    with one_line_problems("not an ADK eval set"):
        if isinstance(value, dict) and "eval_cases" not in value and {"eval_id", "evalId"} & value.keys():
            return [_eval_case(AdkEvalCase.model_validate(value), None)]
        found = EvalSet.model_validate(value)
        return [_eval_case(case, found.eval_set_id or None) for case in found.eval_cases]


def invocation_turn(invocation: Invocation, index: int) -> Turn:
    """Returns a recorded invocation as the turn with that 0-based index."""
    data = invocation.intermediate_data
    steps = _steps(data)
    events = data.invocation_events if isinstance(data, InvocationEvents) else None
    calls = _calls(data)
    final = text(invocation.final_response)
    return Turn(
        turn_index=index,
        user=text(invocation.user_content),
        agent=final,
        adk_text=adk_text(invocation.final_response),
        tool_calls=calls,
        tool_responses=tool_responses(step.content for step in steps),
        agent_messages=_messages(_texts(steps), final),
        transfers=adk_content.called_transfers(calls),
        timestamp=invocation.creation_timestamp or None,
        latency_ms=_milliseconds(invocation.duration),
        model_ms=_milliseconds(invocation.model_duration),
        tool_ms=_milliseconds(invocation.tool_duration),
        inference_calls=None if events is None else adk_content.inference_calls(events),
        usage=None if events is None else adk_content.usage(events),
    )


def invocation_expected(invocation: Invocation) -> ExpectedTurn:
    """Returns an expected invocation; calls that are absent count as none expected, as in google-adk."""
    data, unread = invocation.intermediate_data, _unread(invocation)
    steps, calls = _steps(data), _calls(data)
    nameless = None if all([call.name for call in calls]) else "an expected call names no tool"
    return ExpectedTurn(
        user=text(invocation.user_content),
        response=text(invocation.final_response) or None,
        adk_text=adk_text(invocation.final_response),
        tool_calls=calls,
        intermediate_responses=_texts(steps),
        rubrics=rubrics_of(invocation.rubrics),
        adk_reads=not unread.strange.has_gaps,
        unread=unread.strange.calls or unread.ignored.calls or nameless,
    )


def turn_context(invocations: Sequence[Invocation]) -> JsonObject:
    """Returns further data of each turn: configuration of the agents, and retrieved sources.

    Returns:
        `app_details` and `grounding`, each with one entry per turn; absent if no turn states it.
    """
    context: JsonObject = {
        APP_DETAILS: [_agents(invocation.app_details) for invocation in invocations],
        GROUNDING: [_grounding(invocation.intermediate_data) for invocation in invocations],
    }
    return {key: by_turn for key, by_turn in context.items() if any(by_turn)}


def _agents(app: AppDetails | None) -> JsonObject | None:
    if app is None:
        return None
    return {
        name: {"instructions": agent.instructions, "tool_declarations": agent.tool_declarations}
        for name, agent in app.agent_details.items()
    }


def _grounding(data: IntermediateData | InvocationEvents | None) -> list[JsonObject]:
    return [step.grounding_metadata for step in _steps(data) if step.grounding_metadata]


def stated_app_version(state: JsonObject) -> str | None:
    """Returns the app version that a session's state names, if it is a text."""
    version = state.get("app_version")
    return version if isinstance(version, str) else None


def _steps(data: IntermediateData | InvocationEvents | None) -> list[InvocationEvent]:
    if isinstance(data, InvocationEvents):
        return data.invocation_events
    return _older_steps(data) if data else []


def _calls(data: IntermediateData | InvocationEvents | None) -> list[ToolCall]:
    """Returns the calls where google-adk looks for them: not those beside older texts."""
    steps = _steps(data)
    return tool_calls(s.content for s in (steps[:1] if isinstance(data, IntermediateData) else steps))


def _older_steps(data: IntermediateData) -> list[InvocationEvent]:
    tools = [Part(function_call=call) for call in data.tool_uses]
    tools += [Part(function_response=answer) for answer in data.tool_responses]
    said = [InvocationEvent(author=a, content=Content(parts=p)) for a, p in data.intermediate_responses]
    return [InvocationEvent(author="", content=Content(parts=tools)), *said]


def _texts(steps: Sequence[InvocationEvent]) -> list[str]:
    return [said for step in steps if (said := text(step.content))]


def _messages(between: list[str], final: str) -> list[str]:
    if not between or not final or between[-1] == final:
        return between
    return [*between, final]


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else length(seconds * 1000.0)


def rubrics_of(rubrics: Sequence[AdkRubric] | None) -> list[Rubric]:
    """Returns google-adk's rubrics in the canonical form."""
    return [
        Rubric(rubric_id=r.rubric_id, text=r.rubric_content.text_property or r.description or "", type=r.type)
        for r in rubrics or []
    ]


def _eval_case(case: AdkEvalCase, eval_set_id: str | None) -> EvalCase:
    scenario = case.conversation_scenario
    return EvalCase(
        eval_id=case.eval_id,
        eval_set_id=eval_set_id,
        kind="scenario" if scenario else "golden",
        dialect="adk",
        turns=[invocation_expected(invocation) for invocation in case.conversation or []],
        task=scenario.conversation_plan if scenario else None,
        user_facts=_user_facts(scenario) if scenario else [],
        user_behaviors=_user_behaviors(scenario) if scenario else [],
        rubrics=rubrics_of(case.rubrics),
        session_state=case.session_input.state if case.session_input else {},
        final_session_state=case.final_session_state or {},
        tools=context_tools(turn_context(case.conversation or []).get(APP_DETAILS)),
    )


def _user_facts(scenario: ConversationScenario) -> list[UserFact]:
    facts = [UserFact(name="starting_prompt", value=scenario.starting_prompt)]
    persona = scenario.user_persona
    if persona:
        described = persona if isinstance(persona, str) else persona.description
        facts.append(UserFact(name="user_persona", value=described))
    return facts


def _user_behaviors(scenario: ConversationScenario) -> list[str]:
    persona = scenario.user_persona
    if persona is None or isinstance(persona, str):
        return []
    return [
        "\n".join(
            [
                f"{behavior.name}: {behavior.description}",
                *behavior.behavior_instructions,
                *(f"Violated if: {violation}" for violation in behavior.violation_rubrics),
            ]
        )
        for behavior in persona.behaviors
    ]


def add_unread(invocation: Invocation, turn: Turn) -> None:
    """Adds the unread parts of a recorded invocation to its turn."""
    _unread(invocation).add_to(turn)


def _unread(invocation: Invocation) -> AdkUnread:
    unread, data = AdkUnread(), invocation.intermediate_data
    unread_content(invocation.user_content, unread, False)
    unread_content(invocation.final_response, unread, True)
    for step in _steps(data):
        unread_content(step.content, unread, True)
    known = [(call.name, call.args) for call in _calls(data)]
    for call in tool_calls([invocation.final_response, *(step.content for step in _steps(data))]):
        if (call.name, call.args) not in known:
            said = "a call beside the agent's words is not among the calls of the turn"
            unread.ignored.add(UNREAD, said, calls=True)
    for holder in (invocation, data):
        unread.strange.keys((holder.model_extra if holder else None) or {}, frozenset())
    return unread
