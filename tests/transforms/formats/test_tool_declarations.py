import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.schemas.conversation import Record
from turnwise.transforms.formats.endings import context_tools, declared_tools
from turnwise.transforms.formats.reading import LogReader


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


def read(value):
    return LogReader().read(Record("f", 1, json.dumps(value).encode()))
