"""Converts google-adk's eval sets and invocations."""

from collections.abc import Iterable, Sequence
from functools import reduce
from pathlib import PurePosixPath

from pydantic import AliasPath, BaseModel, Field

from turnwise.schemas import adk
from turnwise.schemas.case import EvalCase, UserFact
from turnwise.schemas.conversation import (
    APP_DETAILS,
    GROUNDING,
    ExpectedTurn,
    Record,
    Rubric,
    ToolCall,
    ToolResponse,
    Turn,
    Usage,
)
from turnwise.schemas.jsonio import JsonObject, JsonValue, no_items
from turnwise.transforms.formats.endings import context_tools, length, wrong_tokens
from turnwise.transforms.formats.fields import UNREAD, Unread, may_hold_work, one_line_problems
from turnwise.transforms.formats.messages.kinds import code_failed, is_work
from turnwise.transforms.formats.registry import ReadSettings


class LegacyToolUse(BaseModel, defer_build=True):
    """An expected call."""

    tool_name: str
    tool_input: JsonObject


class LegacyWords(BaseModel, defer_build=True):
    """An expected intermediate text of an agent."""

    text: str


class LegacyRow(BaseModel, defer_build=True):
    """One expected turn."""

    query: str
    expected_tool_use: list[LegacyToolUse] = Field(default_factory=no_items)
    expected_intermediate_agent_responses: list[LegacyWords] = Field(default_factory=no_items)
    reference: str = ""


class LegacyCase(BaseModel, defer_build=True):
    """One entry of an old eval set."""

    name: str
    data: list[LegacyRow]
    state: JsonObject = Field(default_factory=dict, validation_alias=AliasPath("initial_session", "state"))


def legacy_cases(value: JsonValue, record: Record, settings: ReadSettings) -> list[EvalCase]:
    """Returns the cases of a file; its stem names their set, or the case of its rows; raises ValueError."""
    given = value if isinstance(value, list) else [value]
    stem = PurePosixPath(record.source).name.split(".")[0]
    is_set = bool(given) and isinstance(given[0], dict) and "data" in given[0]
    with one_line_problems("not an old ADK eval case"):
        entries = given if is_set else [{"name": stem, "data": given}]
        cases = [LegacyCase.model_validate(entry) for entry in entries]
    eval_set_id = stem if is_set else None
    made: list[EvalCase] = []
    for case in cases:
        eval_case = EvalCase(case.name, eval_set_id=eval_set_id, dialect="adk")
        eval_case.session_state = case.state
        for row in case.data:
            turn = ExpectedTurn(user=row.query, response=row.reference or None)
            turn.tool_calls = [ToolCall(use.tool_name, use.tool_input) for use in row.expected_tool_use]
            turn.intermediate_responses = [it.text for it in row.expected_intermediate_agent_responses]
            eval_case.turns.append(turn)
        made.append(eval_case)
    return made


TRANSFER = "transfer_to_agent"
_RUN, CODE = "code_execution", ("executable_code", "code_execution_result")
_NOT_READ = ("inline_data", "file_data", *CODE, "tool_call", "tool_response")


def parts_of(content: adk.Content | None) -> list[adk.Part]:
    """Returns a message's parts; none where there is no message."""
    return (content.parts or []) if content else []


def text(content: adk.Content | None) -> str:
    """Returns a message's texts, one a line, thoughts left out; "" where there are none."""
    return "\n".join(part.text for part in parts_of(content) if part.text and not part.thought)


def adk_text(content: adk.Content | None) -> str | None:
    """Returns a message's texts with the thoughts, or None if it has no thoughts."""
    worded = [part for part in parts_of(content) if part.text]
    return "\n".join(part.text or "" for part in worded) if any(part.thought for part in worded) else None


def tool_calls(contents: Iterable[adk.Content | None], agent: str | None = None) -> list[ToolCall]:
    """Returns every call of some messages of an agent, in order; code that ran is inside `code_execution`."""
    parts = (part for content in contents for part in parts_of(content))
    calls = (part.function_call or part.executable_code for part in parts)
    return [
        ToolCall(_RUN, call, agent=agent, inside=_RUN)
        if isinstance(call, dict)
        else ToolCall(call.name, call.args, call.id, agent=agent)
        for call in calls
        if call is not None
    ]


def tool_responses(contents: Iterable[adk.Content | None]) -> list[ToolResponse]:
    """Returns every tool response of some messages, in order, and the results of code."""
    parts = (part for content in contents for part in parts_of(content))
    answers = (part.function_response or part.code_execution_result for part in parts)
    return [
        ToolResponse(_RUN, None, a.get("output"), code_failed(a) or None)
        if isinstance(a, dict)
        else ToolResponse(a.name, a.id, a.response)
        for a in answers
        if a is not None
    ]


class AdkUnread:
    """What is not read of a turn."""

    def __init__(self) -> None:
        # What google-adk's own scores ignore too: media, server-side tools.
        self.ignored = Unread()
        # Keys and parts that google-adk 2.13 does not have.
        self.strange = Unread()

    def add_to(self, turn: Turn) -> Turn:
        """Returns the turn, with what was found."""
        turn.adk_reads = True
        return self.strange.add_to(self.ignored.add_to(turn, adk_ignores=True))

    def content(self, content: adk.Content | None, by_agent: bool, is_heard: bool = False) -> None:
        """Adds the parts of a message that are not read; `is_heard`: the words of its sound are logged."""
        has_text = bool(text(content))  # a picture or a file beside a text hides no words
        for part in parts_of(content):
            if part.function_call is not None and not by_agent:
                message = "a call in a message of the user is not read as the agent's"
                self.ignored.add(UNREAD, message, calls=True)
            is_other = part.text is None and part.function_call is None
            for name in _NOT_READ if is_other else ():
                if (item := getattr(part, name)) is not None and not (by_agent and name in CODE):
                    media = str(item.get("mime_type") or item.get("mimeType") or "")
                    may_speak = media.startswith(("audio/", "video/"))
                    if not (is_heard and may_speak):
                        self.ignored.part(name, by_agent and (may_speak or not has_text))
            is_read = part.text is not None or part.function_call or part.function_response
            for name, item in (part.model_extra or {}).items():
                if not is_read or is_work(name) or may_hold_work(name, item):
                    self.strange.part(name, by_agent)


def _sum(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def eval_cases(value: JsonValue) -> list[EvalCase]:
    """Returns the cases of an eval set or of one eval case; raises ValueError where google-adk refuses it."""
    with one_line_problems("not an ADK eval set"):
        if isinstance(value, dict) and "eval_cases" not in value and {"eval_id", "evalId"} & value.keys():
            return [_eval_case(adk.AdkEvalCase.model_validate(value), None)]
        eval_set = adk.EvalSet.model_validate(value)
        return [_eval_case(case, eval_set.eval_set_id or None) for case in eval_set.eval_cases]


def invocation_turn(invocation: adk.Invocation, index: int) -> Turn:
    """Returns a recorded invocation as the turn with that 0-based index."""
    data, final = invocation.intermediate_data, text(invocation.final_response)
    steps, calls = _steps(data), _calls(data)
    contents, known = [step.content for step in steps], [call.args for call in calls]
    ran = [call for call in tool_calls([invocation.final_response]) if call.inside and call.args not in known]
    if ran:  # google-adk keeps the code of the last event in the final response alone
        calls, contents = [*calls, *ran], [*contents, invocation.final_response]
    messages = [words for step in steps if (words := text(step.content))]
    if messages and final and messages[-1] != final:
        messages.append(final)
    authors = [step.author for step in steps if text(step.content)]
    speakers = [*authors, *[""] * (max(len(messages), 1) - len(authors))] if final or authors else []
    called = ((call.args or {}).get("agent_name") for call in calls if call.name == TRANSFER)
    events = data.invocation_events if isinstance(data, adk.InvocationEvents) else None
    # google-adk counts a model call by its usage or its model version.
    models = [e.usage_metadata is not None or e.model_version is not None for e in events or ()]
    reports = [(e.usage_metadata, e.model_version) for e in events or () if e.usage_metadata]
    # With a negative number, none of them is known.
    are_known = reports and not any(wrong_tokens(vars(report)) for report, _ in reports)
    usages: list[Usage] = []
    for report, model in reports if are_known else ():
        asked = _sum(report.prompt_token_count, report.tool_use_prompt_token_count)
        made = _sum(report.candidates_token_count, report.thoughts_token_count)
        inside = report.cached_content_token_count, report.thoughts_token_count
        usages.append(Usage(asked, made, *inside, model or None))
    turn = Turn(turn_index=index, user=text(invocation.user_content), agent=final, tool_calls=calls)
    turn.adk_text, turn.agent_messages = adk_text(invocation.final_response), messages
    turn.tool_responses = tool_responses(contents)
    turn.speakers = speakers if any(speakers) else []
    turn.transfers = [name for name in called if isinstance(name, str)]
    turn.timestamp = invocation.creation_timestamp or None
    lengths = invocation.duration, invocation.model_duration, invocation.tool_duration
    milliseconds = (None if seconds is None else length(seconds * 1000.0) for seconds in lengths)
    turn.latency_ms, turn.model_ms, turn.tool_ms = milliseconds
    turn.inference_calls = None if events is None else sum(models)
    turn.usage = reduce(Usage.plus, usages) if usages else None
    return turn


def invocation_expected(invocation: adk.Invocation) -> ExpectedTurn:
    """Returns an expected invocation; absent calls beside an answer are none expected, as in google-adk."""
    data, unread = invocation.intermediate_data, unread_parts(invocation)
    steps, stated = _steps(data), _calls(data)
    for call in (calls := [call for call in stated if not call.inside]):
        call.agent = None  # Whoever makes it meets the expectation.
    fault = None if all([call.name for call in calls]) else "an expected call names no tool"
    if any(call.inside for call in (*stated, *tool_calls([invocation.final_response]))):  # other code may do
        fault = "code that is expected to run (executable_code) is not compared"
    final, adk_final = text(invocation.final_response) or None, adk_text(invocation.final_response)
    made = ExpectedTurn(text(invocation.user_content), final, adk_text=adk_final, tool_calls=calls)
    if data is None and invocation.final_response is None:  # it states only what the user says
        made.tool_calls = None
    made.intermediate_responses = [words for step in steps if (words := text(step.content))]
    made.rubrics = rubrics_of(invocation.rubrics)
    made.adk_reads = not unread.strange.has_gaps
    made.unread = unread.strange.calls or unread.ignored.calls or fault
    return made


def turn_context(invocations: Sequence[adk.Invocation]) -> JsonObject:
    """Returns `app_details` (the agents) and `grounding` (sources) by turn; absent if no turn states it."""
    agents: list[JsonObject | None] = []
    for app in (invocation.app_details for invocation in invocations):
        details = app.agent_details.items() if app else ()
        described: JsonObject = {
            name: {"instructions": agent.instructions, "tool_declarations": agent.tool_declarations}
            for name, agent in details
        }
        agents.append(described if app else None)
    steps = (_steps(invocation.intermediate_data) for invocation in invocations)
    sources = [[step.grounding_metadata for step in turn if step.grounding_metadata] for turn in steps]
    return {key: by_turn for key, by_turn in ((APP_DETAILS, agents), (GROUNDING, sources)) if any(by_turn)}


def _steps(data: adk.IntermediateData | adk.InvocationEvents | None) -> list[adk.InvocationEvent]:
    if data is None or isinstance(data, adk.InvocationEvents):
        return data.invocation_events if data else []
    tools = [adk.Part(function_call=call) for call in data.tool_uses]
    tools += [adk.Part(function_response=answer) for answer in data.tool_responses]
    spoken = [("", tools), *data.intermediate_responses]
    return [adk.InvocationEvent(author=name, content=adk.Content(parts=parts)) for name, parts in spoken]


def _calls(data: adk.IntermediateData | adk.InvocationEvents | None) -> list[ToolCall]:
    """Returns the calls where google-adk looks for them, not those beside older texts, and code that ran."""
    numbered = enumerate(_steps(data))
    made = ((i, call) for i, s in numbered for call in tool_calls([s.content], s.author or None))
    return [call for i, call in made if i == 0 or call.inside or not isinstance(data, adk.IntermediateData)]


def rubrics_of(rubrics: Sequence[adk.AdkRubric] | None) -> list[Rubric]:
    """Returns google-adk's rubrics in the canonical form."""
    texts = [(r.rubric_content.text_property or r.description or "", r) for r in rubrics or ()]
    return [Rubric(rubric_id=r.rubric_id, text=text, type=r.type) for text, r in texts]


def _eval_case(case: adk.AdkEvalCase, eval_set_id: str | None) -> EvalCase:
    scenario = case.conversation_scenario
    made = EvalCase(case.eval_id, eval_set_id=eval_set_id, dialect="adk", rubrics=rubrics_of(case.rubrics))
    made.kind = "scenario" if scenario else "golden"
    made.turns = list(map(invocation_expected, case.conversation or []))
    made.session_state = case.session_input.state if case.session_input else {}
    made.final_session_state = case.final_session_state or {}
    made.tools = context_tools(turn_context(case.conversation or []).get(APP_DETAILS))
    if scenario:
        persona = scenario.user_persona
        made.task = scenario.conversation_plan
        made.user_facts = [UserFact(name="starting_prompt", value=scenario.starting_prompt)]
        if persona:
            described = persona if isinstance(persona, str) else persona.description
            made.user_facts.append(UserFact(name="user_persona", value=described))
        for behavior in persona.behaviors if persona and not isinstance(persona, str) else ():
            violations = (f"Violated if: {violation}" for violation in behavior.violation_rubrics)
            lines = (f"{behavior.name}: {behavior.description}", *behavior.behavior_instructions, *violations)
            made.user_behaviors.append("\n".join(lines))
    return made


def unread_parts(invocation: adk.Invocation) -> AdkUnread:
    """Returns what is not read of an invocation."""
    unread, data = AdkUnread(), invocation.intermediate_data
    contents = [step.content for step in _steps(data)]
    unread.content(invocation.user_content, False)
    for content in (invocation.final_response, *contents):
        unread.content(content, True)
    known = [(call.name, call.args) for call in _calls(data)]
    for call in tool_calls([invocation.final_response, *contents]):
        if not call.inside and (call.name, call.args) not in known:
            message = "a call beside the agent's words is not among the calls of the turn"
            unread.ignored.add(UNREAD, message, calls=True)
    for holder in (invocation, data):
        unread.strange.keys((holder.model_extra if holder else None) or {}, frozenset())
    return unread
