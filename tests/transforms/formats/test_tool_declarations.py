import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.schemas.config import CesConfig
from turnwise.schemas.conversation import Record
from turnwise.transforms.formats.endings import context_tools, declared_tools
from turnwise.transforms.formats.reading import CaseReader, LogReader
from turnwise.transforms.matching.sample import inline_case


def told(value):
    return {t.name: (t.effect, t.idempotent, t.destructive, t.origin) for t in declared_tools(value)}


SCHEMA = {"openapi": "3.0.0", "paths": {"/x": {"parameters": [], "delete": {"operationId": "dropX"}}}}
NOTHING = (None, None, None)
CASES = [
    ([{"name": "a", "effect": "write", "idempotent": True}], {"a": ("write", True, None, "declared")}),
    (
        [{"name": "a", "effect": "WRITE"}, {"name": "b", "effect": "?"}],
        {"a": ("write", None, None, "declared"), "b": (*NOTHING, "declared")},
    ),
    ([{"type": "function", "function": {"name": "a", "parameters": {}}}], {"a": (*NOTHING, "openai")}),
    ({"tools": [{"name": "a", "inputSchema": {}}]}, {"a": (*NOTHING, "mcp")}),
    ([{"name": "a", "annotations": {"readOnlyHint": False}}], {"a": ("write", False, True, "mcp")}),
    (
        [
            {
                "name": "a",
                "annotations": {"read_only_hint": False, "destructive_hint": False, "idempotent_hint": True},
            }
        ],
        {"a": ("write", True, False, "mcp")},
    ),
    ([{"name": "a", "annotations": {"destructiveHint": False}}], {"a": (None, None, False, "mcp")}),
    ([{"name": "a", "annotations": {"readOnlyHint": "yes"}}], {"a": (*NOTHING, "mcp")}),
    (
        [{"function_declarations": [{"name": "a", "annotations": {"readOnlyHint": True}}]}],
        {"a": ("read", True, False, "adk")},
    ),
    ([{"operationId": "a", "method": "put"}], {"a": ("write", True, False, "openapi")}),
    ([SCHEMA], {"dropX": ("write", True, True, "openapi")}),
    (
        [
            {
                "name": "apps/x/tools/t1",
                "displayName": "shop",
                "openApiTool": {"openApiSchema": json.dumps(SCHEMA)},
            }
        ],
        {"t1": (*NOTHING, "ces"), "shop": (*NOTHING, "ces"), "dropX": ("write", True, True, "openapi")},
    ),
    ([{"displayName": "kb", "dataStoreTool": {}}], {"kb": ("read", None, None, "ces")}),
    (
        [{"displayName": "f", "pythonFunction": {"name": "g"}}],
        {"f": (*NOTHING, "ces"), "g": (*NOTHING, "ces")},
    ),
    ([{"google_search": {}}, {}, 5, None, "a", {"name": 5}, {"name": ""}, {"function": 3}], {}),
    (None, {}),
    ("tools", {}),
    ({"name": "a"}, {"a": (*NOTHING, "declared")}),
]


@pytest.mark.parametrize(("value", "wanted"), CASES)
def test_declarations_of_every_form(value, wanted):
    assert told(value) == wanted


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["name", "tools", "function", "annotations", "paths", "method", "openApiTool", "get"]
            ),
            inner,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_anything_can_stand_in_the_place_of_declarations(value):
    assert isinstance(declared_tools(value), list)
    assert isinstance(context_tools(value), list)


MCP = {"name": "cancel", "inputSchema": {}, "annotations": {"readOnlyHint": True}}
TURN = {"user": "q", "agent": "a"}
DETAILS = [None, {"root": {"instructions": "x", "tool_declarations": [{"function_declarations": [MCP]}]}}]
RECORDS = [
    {"conversation_id": "c", "turns": [TURN], "tools": [MCP]},
    {"conversation_id": "c", "turns": [TURN], "meta": {"app_details": DETAILS}},
    {
        "id": "c",
        "messages": [{"role": "user", "content": "q"}],
        "tools": [{"type": "function", "function": MCP}],
    },
    {
        "name": "apps/a/conversations/c",
        "turns": [{"messages": [{"role": "user", "chunks": [{"text": "q"}]}]}],
        "tools": [MCP],
    },
]


def read(value):
    return LogReader().read(Record("f", 1, json.dumps(value).encode()))


@pytest.mark.parametrize("record", RECORDS)
def test_logs_carry_declarations(record):
    (conversation,) = read(record)
    (tool,) = conversation.tools
    assert (tool.name, tool.effect) == ("cancel", "read")


@pytest.mark.parametrize("tools", [{}, "x", ["a", "b"], {"cancel": "read"}])
def test_a_log_with_other_tools_is_read_all_the_same(tools):
    (conversation,) = read({"conversation_id": "c", "turns": [TURN], "tools": tools})
    assert (conversation.tools, len(conversation.turns)) == ([], 1)


def adk_invocation():
    part = {"parts": [{"text": "q"}], "role": "user"}
    details = {
        "agentDetails": {"root": {"name": "root", "toolDeclarations": [{"functionDeclarations": [MCP]}]}}
    }
    return {"invocationId": "i", "userContent": part, "finalResponse": part, "appDetails": details}


def cases_of(value):
    return CaseReader(CesConfig()).read(Record("f", 1, json.dumps(value).encode()))


def test_adk_carries_declarations():
    pair = {"actualInvocation": adk_invocation(), "expectedInvocation": adk_invocation()}
    result = {"evalSetId": "s", "evalId": "e", "finalEvalStatus": 1, "evalMetricResultPerInvocation": [pair]}
    (conversation,) = read(
        result | {"evalMetricResults": [], "overallEvalMetricResults": [], "sessionId": "c"}
    )
    (case,) = cases_of({"evalId": "e", "conversation": [adk_invocation()]})
    for holder in (conversation, case):
        assert [(tool.name, tool.effect, tool.origin) for tool in holder.tools] == [("cancel", "read", "adk")]


def test_canonical_cases_carry_declarations_and_are_strict():
    (case,) = cases_of({"eval_id": "e", "actions": [], "tools": [MCP, {"name": "b", "effect": "write"}]})
    assert [(tool.name, tool.effect) for tool in case.tools] == [("cancel", "read"), ("b", "write")]
    for wrong in ({"name": "b", "efect": "write"}, {"name": "b", "effect": "writes"}, {"effect": "write"}):
        with pytest.raises(ValueError, match="not an eval case"):
            cases_of({"eval_id": "e", "actions": [], "tools": [wrong]})


def test_expected_calls_of_the_user_are_kept_apart():
    actions = [
        {"name": "a", "args": {"x": 1}, "requestor": "assistant", "compare_args": ["x"]},
        {"name": "toggle", "arguments": {}, "requestor": "user"},
    ]
    for outcome in ({"actions": actions}, {"actions": actions[:1], "user_actions": actions[1:]}):
        (conversation,) = read({"conversation_id": "c", "turns": [TURN], "expected": outcome})
        case = inline_case(conversation)
        assert [(call.name, call.compare_args) for call in case.actions] == [("a", ["x"])]
        assert [call.name for call in case.user_actions] == ["toggle"]
    task = {"info": {"task": {"actions": actions}}, "messages": [{"role": "user", "content": "q"}]}
    (conversation,) = read(task)
    assert [call.name for call in conversation.expected.user_actions] == ["toggle"]
    (odd,) = read(
        {
            "conversation_id": "c",
            "turns": [TURN],
            "expected": {"actions": [{"name": "a", "compare_args": "x"}]},
        }
    )
    assert odd.expected.actions[0].compare_args is None
