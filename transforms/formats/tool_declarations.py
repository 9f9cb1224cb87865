"""Tools as logs and cases declare them: MCP, OpenAPI, OpenAI, google-genai (ADK), CES, canonical."""

from collections.abc import Iterable, Iterator
from typing import get_args

from turnwise.schemas.conversation import Effect, ToolDeclaration
from turnwise.schemas.jsonio import JsonObject, JsonValue, json_structure
from turnwise.transforms.formats.messages.values import stated

_METHODS: dict[str, Effect] = {
    **dict.fromkeys(("get", "head", "options", "trace", "query"), "read"),
    **dict.fromkeys(("post", "put", "patch", "delete"), "write"),
}
_IDEMPOTENT_METHODS = ("get", "head", "options", "trace", "query", "put", "delete")
_FUNCTION_LISTS = ("function_declarations", "functionDeclarations")
_CES_TOOLS = ("clientFunction", "pythonFunction", "mcpTool", "openApiTool", "connectorTool", "systemTool",
              "dataStoreTool", "googleSearchTool", "fileSearchTool", "widgetTool", "agentTool")  # fmt: skip
_CES_READING = ("dataStoreTool", "googleSearchTool", "fileSearchTool")
_SCHEMAS = ("inputSchema", "input_schema", "parameters", "outputSchema")
_FOREIGN = {
    "function",
    "annotations",
    "operationId",
    "method",
    "paths",
    *_SCHEMAS,
    *_FUNCTION_LISTS,
    *_CES_TOOLS,
}


def is_foreign(tool: JsonValue) -> bool:
    """Returns whether a declaration is in another form than the canonical one."""
    return isinstance(tool, dict) and not _FOREIGN.isdisjoint(stated(tool))


def declared_tools(value: JsonValue) -> list[ToolDeclaration]:
    """Returns the tools of a list of declarations, of any forms; each name once, what is none is left out.

    The list may stand under `tools`, as MCP's answer to `tools/list` does.
    """
    entries = stated(value).get("tools", [value]) if isinstance(value, dict) else value
    found: dict[str, ToolDeclaration] = {}
    for entry in entries if isinstance(entries, list) else ():
        for tool in _declarations(entry):
            found.setdefault(tool.name, tool)
    return list(found.values())


def context_tools(app_details: JsonValue) -> list[ToolDeclaration]:
    """Returns the tools of the agents of every turn (`meta.app_details` of a conversation)."""
    turns = app_details if isinstance(app_details, list) else []
    agents = (agent for turn in turns if isinstance(turn, dict) for agent in turn.values())
    listed = (agent.get("tool_declarations") for agent in agents if isinstance(agent, dict))
    return declared_tools([tool for tools in listed if isinstance(tools, list) for tool in tools])


def _declarations(tool: JsonValue) -> Iterable[ToolDeclaration]:
    if not isinstance(tool, dict):
        return ()
    tool = stated(tool)
    for key in _FUNCTION_LISTS:
        if isinstance(tool.get(key), list):
            return [found for function in tool[key] for found in _one(function, "adk")]
    if isinstance(tool.get("paths"), dict):
        return _operations(tool["paths"])
    kind = next((key for key in _CES_TOOLS if isinstance(tool.get(key), dict)), None)
    if kind is not None:
        return _ces_tool(tool, kind)
    function = tool.get("function")
    return _one(function, "openai") if isinstance(function, dict) else _one(tool, _origin(tool))


def _origin(tool: JsonObject) -> str:
    if "annotations" in tool or "inputSchema" in tool:
        return "mcp"
    return "openapi" if "method" in tool else "openai" if "parameters" in tool else "declared"


def _one(tool: JsonValue, origin: str) -> Iterator[ToolDeclaration]:
    """Yields the tool that an object with a name declares, if it is one."""
    name = (tool.get("name") or tool.get("operationId")) if isinstance(tool, dict) else None
    if not isinstance(name, str) or not name:
        return
    declared = ToolDeclaration(name, origin=origin, description=_text(tool.get("description")))
    _add_annotations(declared, tool.get("annotations"))
    _add_method(declared, tool.get("method"))
    stated = str(tool.get("effect")).lower()
    if stated in get_args(Effect):
        declared.effect = stated  # type: ignore[assignment]
    for field in ("idempotent", "destructive"):
        if isinstance(tool.get(field), bool):
            setattr(declared, field, tool[field])
    yield declared


def _add_annotations(declared: ToolDeclaration, annotations: JsonValue) -> None:
    """Reads MCP's hints; a tool that is not read-only is destructive and not idempotent unless it says so.

    One that does not say whether it is read-only is not if it is destructive.
    """
    if not isinstance(annotations, dict):
        return
    reads, destroys, repeats = (
        _flag(annotations, camel, snake)
        for camel, snake in (
            ("readOnlyHint", "read_only_hint"),
            ("destructiveHint", "destructive_hint"),
            ("idempotentHint", "idempotent_hint"),
        )
    )
    if reads is None and not destroys:
        declared.destructive, declared.idempotent = destroys, repeats
    elif reads:
        declared.effect, declared.idempotent, declared.destructive = "read", True, False
    else:
        declared.effect = "write"
        declared.destructive, declared.idempotent = destroys is not False, repeats is True


def _flag(annotations: JsonObject, *names: str) -> bool | None:
    return next((annotations[name] for name in names if isinstance(annotations.get(name), bool)), None)


def _add_method(declared: ToolDeclaration, method: JsonValue) -> None:
    verb = method.lower() if isinstance(method, str) else ""
    if verb in _METHODS:
        declared.effect = _METHODS[verb]
        declared.idempotent, declared.destructive = verb in _IDEMPOTENT_METHODS, verb == "delete"


def _operations(paths: JsonObject) -> Iterator[ToolDeclaration]:
    """Yields the operations of an OpenAPI document that have a name."""
    for operations in paths.values():
        for method, operation in operations.items() if isinstance(operations, dict) else ():
            if isinstance(operation, dict) and method.lower() in _METHODS:
                fields = {"description": operation.get("description") or operation.get("summary")}
                yield from _one({**fields, "name": operation.get("operationId"), "method": method}, "openapi")


def _ces_tool(tool: JsonObject, kind: str) -> Iterator[ToolDeclaration]:
    """Yields a CES tool under its id, its display name and the name of its function, and its operations."""
    details = tool[kind]
    names = (str(tool.get("name") or "").rsplit("/", 1)[-1], tool.get("displayName"), details.get("name"))
    fields = {"description": details.get("description"), "annotations": details.get("annotations")}
    if kind in _CES_READING:
        fields["effect"] = "read"
    for name in dict.fromkeys(name for name in names if isinstance(name, str)):
        yield from _one({**fields, "name": name}, "ces")
    schema = _decoded(details.get("openApiSchema"))
    if isinstance(schema.get("paths"), dict):
        yield from _operations(schema["paths"])


def _decoded(text: JsonValue) -> JsonObject:
    value = json_structure(text) if isinstance(text, str) else text
    return value if isinstance(value, dict) else {}


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None
