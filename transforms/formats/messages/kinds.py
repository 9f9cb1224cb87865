"""Whose a message is and what its parts are, by the words of each provider: for files and for spans alike."""

import re
from functools import lru_cache
from typing import TypeAlias

from turnwise.schemas.jsonio import JsonValue

USER, AGENT, TOOL, SYSTEM = "user", "assistant", "tool", "system"
TEXT, CALL, HOSTED, RESULT, THOUGHT, MEDIA = "text", "call", "hosted", "result", "thought", "media"
"""Kinds of parts. The model's service runs a hosted call itself; a thought is no step, nor is a note."""
_ROLES = {
    USER: "user human",
    AGENT: "assistant ai model agent bot tool-call toolcallrequestevent toolcallsummary",
    TOOL: "tool function function_call_output tool-response toolcallexecutionevent functionexecutionresult",
    SYSTEM: "system developer instructions",
}
_BY_ROLE = {word: role for role, words in _ROLES.items() for word in words.split()}
PartKinds: TypeAlias = dict[str, str]
"""Kind -> types of parts, or keys that name a part, of one provider."""
CHAT_PARTS: PartKinds = {
    TEXT: "text refusal",
    CALL: "function custom",
    MEDIA: "image_url input_audio audio file",
}
RESPONSES_PARTS: PartKinds = {
    TEXT: "text input_text output_text summary_text refusal",
    CALL: "function_call custom_tool_call",
    HOSTED: "mcp_call",
    RESULT: "function_call_output custom_tool_call_output",
    THOUGHT: "reasoning mcp_list_tools additional_tools compaction compaction_trigger context_compaction "
    "compaction_summary mcp_approval_request mcp_approval_response agent_config_update",
    MEDIA: "input_image input_file input_audio output_audio audio_content image_content",
}
ANTHROPIC_PARTS: PartKinds = {
    TEXT: "text",
    CALL: "tool_use",
    HOSTED: "server_tool_use mcp_tool_use",
    RESULT: "tool_result",
    THOUGHT: "thinking redacted_thinking compaction fallback tool_addition tool_removal mid_conv_system "
    "container_upload",
    MEDIA: "image document",
}
BEDROCK_PARTS: PartKinds = {
    CALL: "toolUse",
    RESULT: "toolResult",
    THOUGHT: "reasoningContent cachePoint toolAddition toolRemoval",
}
GEMINI_PARTS: PartKinds = {
    CALL: "functionCall toolCall",
    HOSTED: "executableCode",
    RESULT: "functionResponse toolResponse codeExecutionResult",
    THOUGHT: "thought thoughtSignature videoMetadata partMetadata mediaResolution",
    MEDIA: "inlineData fileData",
}
VERCEL_PARTS: PartKinds = {
    TEXT: "text",
    CALL: "tool-call",
    RESULT: "tool-result tool-error",
    THOUGHT: "reasoning redacted-reasoning step-start source source-url source-document",
    MEDIA: "file image",
}
LANGCHAIN_PARTS: PartKinds = {
    TEXT: "text output_text refusal",
    CALL: "tool_use tool_call function_call",
    HOSTED: "server_tool_call",
    RESULT: "server_tool_result",
    THOUGHT: "thinking redacted_thinking reasoning reasoning_content non_standard non_standard_annotation",
}
GENAI_PARTS: PartKinds = {
    TEXT: "text",
    CALL: "tool_call",
    HOSTED: "server_tool_call",
    RESULT: "tool_call_response server_tool_call_response",
    THOUGHT: "reasoning",
    MEDIA: "audio input_audio video media",
}
HAYSTACK_PARTS: PartKinds = {RESULT: "tool_call_result"}
_ALL = (CHAT_PARTS, RESPONSES_PARTS, ANTHROPIC_PARTS, BEDROCK_PARTS, GEMINI_PARTS, VERCEL_PARTS,
        LANGCHAIN_PARTS, GENAI_PARTS, HAYSTACK_PARTS)  # fmt: skip


def snake(name: str) -> str:
    """Returns a name in small letters with underscores."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[-. ]", "_", name).lower()


_KINDS = {snake(name): kind for kinds in _ALL for kind, names in kinds.items() for name in names.split()}


@lru_cache(maxsize=1024)
def part_kind(name: str) -> str | None:
    """Returns the kind of a part by its type, or by the key that names it; None: no provider has it."""
    plain = snake(name)
    known = _KINDS.get(plain)
    if known is None and plain.endswith("_tool_result"):
        return RESULT  # of any tool that the model's service runs itself
    return known or (THOUGHT if "reasoning" in plain and not is_work(plain) else None)


def part_types(parts: PartKinds, *kinds: str) -> tuple[str, ...]:
    """Returns the types of a provider's parts that are of some kinds."""
    return tuple(name for kind in kinds for name in parts.get(kind, "").split())


def role_of(name: JsonValue) -> str | None:
    """Returns whose a message is, by its role or the name of its class; None: it is nobody's."""
    return _role_named(name) if isinstance(name, str) else None


@lru_cache(maxsize=1024)
def _role_named(name: str) -> str | None:
    plain = name.rpartition(".")[2].lower()
    return _BY_ROLE.get(plain) or _BY_ROLE.get(
        plain.removesuffix("chunk").removesuffix("message").rstrip("_")
    )


_WORK = re.compile(
    r"(^|_)(call|use|result|output|invocation|response|tool|function|action|transfer)s?$|^((executable|generated|source|python)_)?code$"
)


def is_work(name: str) -> bool:
    """Returns whether a key or type may hold calls or their results, by its name."""
    return bool(_WORK.search(snake(name)))


HIDDEN = frozenset(
    ("__REDACTED__", "<elided>", "readacted", "redacted", "<redacted>", "[REDACTED]", "<not specified>")
)
"""What writers put in the place of a content that they hide."""
