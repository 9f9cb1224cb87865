from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation, ToolDeclaration, ToolSetting
from turnwise.transforms.effects.call_effects import (
    ToolCatalog,
    conversation_tools,
    sort_settings,
)


def catalog(config, *declared):
    tools = {name: ToolSetting.model_validate(value) for name, value in config.items()}
    return ToolCatalog(sort_settings(tools), declared)


def test_the_nearest_source_decides_each_thing_alone():
    declared = ToolDeclaration("cancel_it", "read", origin="mcp")
    assert catalog({}).effect("cancel_it") == ("write", True, True, "guess")
    assert catalog({}, declared).effect("cancel_it") == ("read", True, False, "mcp")
    assert catalog({"cancel_it": "handoff"}, declared).effect("cancel_it") == (
        "handoff",
        True,
        False,
        "config",
    )
    only_destructive = {"cancel_it": {"destructive": False}}
    assert catalog(only_destructive).effect("cancel_it") == ("write", True, False, "guess")
    assert catalog(only_destructive, declared).effect("cancel_it") == ("read", True, False, "mcp")


def test_a_declaration_without_an_effect_helps_the_guess():
    assert catalog({}, ToolDeclaration("zork", description="Returns things.")).effect("zork").effect == "read"
    tool = catalog({}, ToolDeclaration("create_it", idempotent=True, destructive=True)).effect("create_it")
    assert tool == ("write", True, True, "guess")


def test_what_is_stated_of_a_tool_that_nothing_is_known_of():
    unknown, hint = (
        ("unknown", False, False, "guess"),
        ToolDeclaration("zork", destructive=True, origin="mcp"),
    )
    assert catalog({}).effect("zork") == unknown
    assert catalog({}, ToolDeclaration("zork")).effect("zork") == unknown
    assert catalog({"zork": {"effect": None, "source": "guess"}}).effect("zork") == unknown
    assert catalog({"zork": "write"}).effect("zork") == ("write", False, False, "config")
    assert catalog({"zork": {"destructive": True}}).effect("zork") == ("write", False, True, "config")
    assert catalog({}, hint).effect("zork") == ("write", False, True, "mcp")
    assert catalog({"zork": "read"}, hint).effect("zork") == ("read", True, False, "config")


def test_names_go_before_globs_and_the_first_glob_counts():
    config = {"get_*": "write", "*_it": "handoff", "get_it": "read", "[xy]z": "read"}
    found = {
        name: catalog(config).effect(name).effect
        for name in ("get_it", "get_that", "cancel_it", "xz", "Get_a")
    }
    assert found == {
        "get_it": "read",
        "get_that": "write",
        "cancel_it": "handoff",
        "xz": "read",
        "Get_a": "read",
    }
    assert catalog(config).effect("Get_a").is_guess


def test_the_log_goes_before_the_case():
    conversation = Conversation(conversation_id="c", tools=[ToolDeclaration("a", "read")])
    case = EvalCase(eval_id="e", tools=[ToolDeclaration("a", "write"), ToolDeclaration("b", "read")])
    found = conversation_tools(sort_settings({}), conversation, case)
    assert (found.effect("a").effect, found.effect("b").effect, found.declared) == (
        "read",
        "read",
        ["a", "b"],
    )
