import pytest

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation, ToolCall, ToolDeclaration, ToolSetting
from turnwise.transforms.effects.call_effects import (
    ToolCatalog,
    called_tool,
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


@pytest.mark.parametrize(
    ("name", "args", "wanted"),
    [
        ("call_tool", {"tool_name": "get_x", "arguments": "{}"}, "get_x"),
        ("call_hidden_tool", {"hidden_tool_name": "get_x_1"}, "get_x_1"),
        ("call_customer", {"name": "Ann"}, "call_customer"),
        (None, {"name": "get_x"}, ""),
        ("call_tool", {"tool_id": "get_x"}, "get_x"),
    ],
)
def test_tools_that_call_tools(name, args, wanted):
    assert called_tool(ToolCall(name, args)) == wanted
    assert catalog({}).effect_of(ToolCall(name, args)) == catalog({}).effect(wanted)


CALLS = [
    # A query decides.
    ("query_db", {"sql": "DELETE FROM users"}, "destructive"),
    ("execute_query", {"q": "WITH x AS (DELETE FROM a RETURNING *) SELECT * FROM x"}, "destructive"),
    ("query", {"query": "TRUNCATE users;"}, "destructive"),
    ("run_sql", {"sql": "SELECT 1; drop table users"}, "destructive"),
    ("search_products", {"query": "drop table lamp"}, "read"),
    ("search_products", {"query": "drop table"}, "read"),
    ("search_orders", {"sql": "drop table orders"}, "destructive"),
    ("query_db", {"input": {"statements": ["SELECT 1", "DELETE FROM a"]}}, "destructive"),
    ("run_sql", {"sql": "EXPLAIN ANALYZE DELETE FROM a"}, "destructive"),
    ("neo4j_query", {"query": "MATCH (n) DETACH DELETE n"}, "destructive"),
    ("mongo_query", {"query": "db.users.deleteMany({})"}, "destructive"),
    ("graphql_query", {"query": "mutation { deleteUser(id: 1) { id } }"}, "destructive"),
    ("call_tool", {"tool_name": "query_db", "arguments": {"sql": "DROP TABLE a"}}, "destructive"),
    ("call_tool", {"tool_name": "query_db", "arguments": '{"sql": "DROP TABLE a"}'}, "destructive"),
    ("write_query", {"query": "DELETE FROM a"}, "destructive"),
    ("query", {"q": "```sql\nDELETE FROM users\n```"}, "destructive"),
    ("query", {"q": "CALL purge()"}, "unknown"),
    ("search_graph", {"cypher": "CREATE (n:User)"}, "write"),
    ("sqlite_query", {"query": "SELECT * INTO b FROM a"}, "write"),
    ("run_query", {"query": "UPDATE users SET a = 1 WHERE id = 2"}, "write"),
    ("graphql_query", {"query": "mutation M($a: ID!) { updateUser(id: $a) { id } }"}, "write"),
    ("run_sql", {"sql": "-- all\n SELECT * FROM a WHERE x = 'delete from b; drop table c'"}, "read"),
    ("execute", {"command": "EXPLAIN DELETE FROM a"}, "read"),
    ("sql", {"query": "PRAGMA table_info(a)"}, "read"),
    ("graphql", {"query": "{ user(id: 1) { name } }"}, "read"),
    ("neo4j_query", {"query": "MATCH (n:User) RETURN n"}, "read"),
    # Texts that are none, or are not run, do not.
    ("search", {"query": "delete account how to"}, "read"),
    ("search", {"query": "UPDATE ON ORDER 7"}, "read"),
    ("sql_db_query_checker", {"query": "DELETE FROM users"}, "read"),
    ("frobnicate", {"text": "Select a seat from the left"}, "unknown"),
    # So does an action.
    ("calendar", {"action": "create"}, "write"),
    ("calendar", {"action": "delete"}, "destructive"),
    ("user_info", {"action": "update"}, "write"),
    ("fetch", {"url": "u", "method": "delete"}, "destructive"),
    ("fetch_url", {"method": "POST"}, "write"),
    ("fetch_urls", {"requests": [{"url": "u", "method": "DELETE"}]}, "destructive"),
    ("get_shell_output", {"command": "rm -rf build"}, "unknown"),
    ("bash", {"command": "rm -rf build"}, "destructive"),
    ("bash", {"command": "ls -la"}, "read"),
    ("bash", {"command": "ls;rm x"}, "unknown"),
    ("http_request", {"url": "u", "method": "GET"}, "read"),
    ("str_replace_editor", {"command": "view"}, "read"),
    ("str_replace_editor", {"command": "create"}, "write"),
    ("order", {"action": "get"}, "read"),
    ("order", {"action": "submit"}, "write"),
    ("frobnicate", {"action": "list"}, "read"),
    ("frobnicate", {"action": "zork"}, "unknown"),
    ("browser", {"action": "click"}, "unknown"),
    # It may filter, or be something else.
    ("search_logs", {"action": "delete"}, "unknown"),
    ("check_calendar", {"action": "delete"}, "unknown"),
    ("get_history", {"action": "get"}, "read"),
    ("shipping_cost", {"method": "post"}, "read"),
    ("calculator", {"operation": "add", "a": 1, "b": 2}, "read"),
    # Tools of frameworks, and of businesses with the same names.
    ("add", {"a": 1, "b": 2}, "read"),
    ("add", {"item": 1, "quantity": 2}, "write"),
    ("finish", {"answer": "x"}, "read"),
    ("finish", {"order_id": 1}, "unknown"),
    ("update_plan", {"plan": [{"step": "a"}]}, "read"),
    ("update_plan", {"plan": "gold"}, "unknown"),
]


@pytest.mark.parametrize(("name", "args", "wanted"), CALLS)
def test_what_the_arguments_of_a_call_say(name, args, wanted):
    effect = catalog({}).effect_of(ToolCall(name, args))
    assert ("destructive" if effect.destructive else effect.effect) == wanted
    declared = catalog({}, ToolDeclaration(name, "handoff"))
    assert (
        declared.effect_of(ToolCall(name, args)).effect == "handoff"
        or called_tool(ToolCall(name, args)) != name
    )
