"""google-adk's two older eval files: lists of rows, and lists of named lists of rows."""

from pydantic import BaseModel, Field

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import ExpectedTurn, ToolCall
from turnwise.schemas.jsonio import JsonObject, JsonValue, no_items
from turnwise.transforms.formats.problems import one_line_problems


class LegacyToolUse(BaseModel, defer_build=True):
    """An expected call."""

    tool_name: str
    tool_input: JsonObject


class LegacyWords(BaseModel, defer_build=True):
    """An expected intermediate text of an agent."""

    author: str = ""
    text: str


class LegacyRow(BaseModel, defer_build=True):
    """One expected turn."""

    query: str
    expected_tool_use: list[LegacyToolUse] = Field(default_factory=no_items)
    expected_intermediate_agent_responses: list[LegacyWords] = Field(default_factory=no_items)
    reference: str = ""


class LegacySession(BaseModel, defer_build=True):
    """The session that a case starts with."""

    state: JsonObject = Field(default_factory=dict)


class LegacyCase(BaseModel, defer_build=True):
    """One entry of an old eval set."""

    name: str
    data: list[LegacyRow]
    initial_session: LegacySession = Field(default_factory=LegacySession)


def legacy_eval_case(value: JsonValue, eval_set_id: str | None = None) -> EvalCase:
    """Returns an entry `{name, data, initial_session}` of an old eval set as a case.

    Raises:
        ValueError: Not such an entry; one line with the path of the first problem.
    """
    with one_line_problems("not an old ADK eval case"):
        case = LegacyCase.model_validate(value)
    return EvalCase(
        eval_id=case.name,
        eval_set_id=eval_set_id,
        dialect="adk",
        turns=[_expected(row) for row in case.data],
        session_state=case.initial_session.state,
    )


def legacy_cases(value: list[JsonValue], stem: str) -> list[EvalCase]:
    """Returns the cases of a file of either kind; its stem names the set, or the case of a file of rows.

    Raises:
        ValueError: Not such a file; one line with the path of the first problem.
    """
    if value and isinstance(value[0], dict) and "data" in value[0]:
        return [legacy_eval_case(entry, stem) for entry in value]
    return [legacy_eval_case({"name": stem, "data": value})]


def _expected(row: LegacyRow) -> ExpectedTurn:
    return ExpectedTurn(
        user=row.query,
        response=row.reference or None,
        tool_calls=[ToolCall(name=use.tool_name, args=use.tool_input) for use in row.expected_tool_use],
        intermediate_responses=[words.text for words in row.expected_intermediate_agent_responses],
    )
