"""Blocks of Anthropic's messages: calls, results, and what they hold."""

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.values import decoded, joined_texts, objects, text_at
from turnwise.transforms.formats.own_results import own_result
from turnwise.transforms.formats.spellings import failure_mark

CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
"""Types of blocks that are calls."""


def as_blocks(content: JsonValue) -> list[JsonObject]:
    """Returns the blocks of a content, which may be a text; raises ValueError for anything else."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return list(objects(blocks, "content"))


def is_block(part: JsonValue) -> bool:
    """Returns whether a part of a content is a call or a result in Anthropic's form."""
    kind = part.get("type") if isinstance(part, dict) else None
    return isinstance(kind, str) and (kind in CALLS or kind.endswith("tool_result"))


def read_block(block: JsonObject, log: Dialogue) -> None:
    """Adds a call or a result.

    Raises:
        ValueError: A value has the wrong type.
    """
    if block["type"] in CALLS:
        server = block.get("server_name")
        path = f"{server}/{block.get('name')}" if server else ""
        log.call(block.get("name"), block.get("input"), block.get("id"), path, own_result(block))
        return
    content = block.get("content")
    error = failure_mark(block) or _error(content)
    log.result(result_value(content, log), block.get("tool_use_id"), error=error or None)


def _error(content: JsonValue) -> JsonValue:
    """Returns the error that the content of a server's result states."""
    if not isinstance(content, dict):
        return None
    if str(content.get("type")).endswith("_error"):
        return content.get("error_code") or True
    return content.get("return_code") not in (None, 0)


def result_value(content: JsonValue, log: Dialogue) -> JsonValue:
    """Returns what a result holds: the text of its text parts, decoded, or the content as it is."""
    if not isinstance(content, list):
        return decoded(content)
    texts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
    if not texts and content:
        return content
    for part in content:
        if isinstance(part, dict) and part.get("type") != "text":
            log.unread.part(str(part.get("type")), by_agent=False)
    return decoded(joined_texts([text_at(part, "text") for part in texts]))


def usage_of(usage: JsonValue) -> JsonObject:
    """Returns token counts; those of cached input are input too."""
    if not isinstance(usage, dict):
        return {}
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    counts = [count for name in names if type(count := usage.get(name)) is int]
    return {
        "input_tokens": sum(counts) if counts else None,
        "output_tokens": usage.get("output_tokens"),
        "cached_tokens": usage.get("cache_read_input_tokens"),
    }
