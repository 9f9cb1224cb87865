"""Items of `codex exec --json`, and Codex's counts of tokens."""

import re
from collections.abc import Sequence

from turnwise.schemas.jsonio import JsonObject, json_structure
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.values import as_object, kind_of
from turnwise.transforms.formats.spellings import failure_mark

_OF_THE_TOOL = re.compile(
    r"\s*(?:# AGENTS\.md instructions.*"
    r"|<(environment_context|user_instructions|turn_\w+|permissions)\b[^>]*>.*</\1[^>]*>\s*)",
    re.DOTALL,
)
_EXIT = re.compile(r"^(?:Process exited with code|Exit code:?) (-?\d+)", re.IGNORECASE | re.MULTILINE)
_STEPLESS = ("reasoning", "todo_list")


def add_item(item: JsonObject, log: Dialogue) -> None:
    """Adds a finished item: a text, or a call with its result."""
    kind = kind_of(item) or str(item.get("item_type"))
    call_id = item.get("id")
    if kind in ("agent_message", "assistant_message"):
        log.agent(str(item.get("text") or ""))
    elif kind == "command_execution":
        log.call("shell", {"command": item.get("command")}, call_id)
        code = item.get("exit_code")
        error = f"exit code {code}" if code else failure_mark(item)
        log.result(item.get("aggregated_output"), call_id, "shell", error)
    elif kind == "mcp_tool_call":
        path = f"{item.get('server')}/{item.get('tool')}"
        log.call(item.get("tool"), item.get("arguments"), call_id, path)
        log.result(item.get("result"), call_id, item.get("tool"), failure_mark(item))
    elif kind == "file_change":
        log.call("apply_patch", {"changes": item.get("changes")}, call_id)
        log.result(item.get("status"), call_id, "apply_patch", failure_mark(item))
    elif kind == "web_search":
        log.call("web_search", {"query": item.get("query")}, call_id)
    elif kind == "error":
        log.unread.add("AgentError", f"an error: {str(item.get('message'))[:200]}")
    elif kind not in _STEPLESS:
        log.unread.part(kind)


def add_usage(log: Dialogue, usage: JsonObject) -> None:
    """Adds the tokens of one call of the model."""
    log.usage(
        {
            "input_tokens": usage.get("input_tokens"),
            "output_tokens": usage.get("output_tokens"),
            "cached_tokens": usage.get("cached_input_tokens"),
            "reasoning_tokens": usage.get("reasoning_output_tokens"),
        }
    )


def marked(payload: JsonObject) -> JsonObject:
    """Returns an item, with an error if its output states an exit code that is not 0."""
    output = payload.get("output")
    text = output if isinstance(output, str) else str(as_object(output).get("content") or "")
    code = _exit_code(text)
    return {**payload, "error": f"exit code {code}"} if code not in (None, "0") else payload


def _exit_code(text: str) -> str | None:
    """Returns the exit code in the metadata of an output, or in the lines before what the command wrote."""
    metadata = as_object(as_object(json_structure(text)).get("metadata"))
    if "exit_code" in metadata:
        return str(metadata["exit_code"])
    found = _EXIT.search(text.partition("Output:")[0])
    return found[1] if found else None


def is_typed(payload: JsonObject, typed: Sequence[str]) -> bool:
    """Returns whether the user wrote a message, given what the log says was typed ([]: it does not say)."""
    content = payload.get("content")
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    texts = [content] if isinstance(content, str) else [str(part.get("text") or "") for part in parts]
    if typed:
        text = "\n".join(texts).strip()
        return any(text.startswith(each) for each in typed)
    return not texts or not all(map(_OF_THE_TOOL.fullmatch, texts))
