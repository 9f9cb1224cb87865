"""Tools that the model calls of a conversation declare."""

from collections.abc import Iterator, Sequence

from turnwise.schemas.conversation import ToolDeclaration
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.tool_declarations import declared_tools
from turnwise.transforms.formats.traces.numbered import numbered
from turnwise.transforms.formats.traces.tree import SpanNode
from turnwise.transforms.formats.traces.values import loaded

_LISTS = ("gen_ai.tool.definitions", "ai.prompt.tools", "langfuse.observation.tool_definitions")
_REQUEST = "gcp.vertex.agent.llm_request"
_NUMBERED = ("llm.tools.", "llm.request.functions.")
_MOST_READ = 16


def declared(nodes: Sequence[SpanNode]) -> list[ToolDeclaration]:
    """Returns the tools of a conversation's model calls, each name once; equal declarations are read once."""
    found: dict[str, ToolDeclaration] = {}
    seen: set[str] = set()
    for node in nodes:
        if node.step.kind in ("model", "agent"):
            for stated in _stated(node.span.attributes):
                key = str(stated)
                if key not in seen and len(seen) < _MOST_READ:
                    seen.add(key)
                    for tool in declared_tools(_plain(stated)):
                        found.setdefault(tool.name, tool)
    return list(found.values())


def _stated(held: JsonObject) -> Iterator[JsonValue]:
    yield from (held[key] for key in _LISTS if held.get(key))
    if _REQUEST in held:
        yield held[_REQUEST]
    for prefix in _NUMBERED:
        if f"{prefix}0.name" in held or f"{prefix}0.tool.json_schema" in held:
            yield numbered(held, prefix)


def _plain(stated: JsonValue) -> list[JsonValue]:
    """Returns declarations as a list of objects."""
    stated = loaded(stated)
    if isinstance(stated, dict):
        config = stated.get("config")
        stated = config.get("tools") if isinstance(config, dict) else None
    found = [loaded(each) for each in stated] if isinstance(stated, list) else []
    return [_declaration(each) for each in found]


def _declaration(held: JsonValue) -> JsonValue:
    inner = held.get("tool") if isinstance(held, dict) else None
    if isinstance(inner, dict) and "json_schema" in inner:
        return loaded(inner["json_schema"])
    if isinstance(held, dict) and isinstance(held.get("parameters"), str):
        return {**held, "parameters": loaded(held["parameters"])}
    return held
