"""Reads texts, calls and tokens of google-adk's messages and events."""

from collections.abc import Iterable, Sequence

from turnwise.schemas.adk import AdkEvent, Content, FunctionCall, FunctionResponse, InvocationEvent, Part
from turnwise.schemas.conversation import ToolCall, ToolResponse, Turn, Usage
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.formats.spellings import spelt, wrong_tokens
from turnwise.transforms.formats.unread import UNREAD, Unread, is_work, may_hold_work

TRANSFER = "transfer_to_agent"
_NOT_READ = (
    "inline_data",
    "file_data",
    "executable_code",
    "code_execution_result",
    "tool_call",
    "tool_response",
)
_EVENT_KEYS = spelt(
    *("output", "error_code", "logprobs_result", "cache_metadata", "citation_metadata", "node_info"),
    *("input_transcription", "output_transcription", "live_session_resumption_update", "go_away"),
    *("avg_logprobs", "safety_ratings", "session_id", "app_name", "user_id", "state"),
) | {"event_id"}
_ACTION_KEYS = spelt(
    *("artifact_delta", "requested_auth_configs", "requested_tool_confirmations", "agent_state"),
    *("render_ui_widgets", "route"),
)
_SPOKEN = ("output_transcription", "outputTranscription")


def parts_of(content: Content | None) -> list[Part]:
    """Returns a message's parts; none where there is no message."""
    return (content.parts or []) if content else []


def text(content: Content | None) -> str:
    """Returns a message's texts, one a line, thoughts left out; "" where there are none."""
    return "\n".join(part.text for part in parts_of(content) if part.text and not part.thought)


def adk_text(content: Content | None) -> str | None:
    """Returns a message's texts with the thoughts, or None if it has no thoughts."""
    worded = [part for part in parts_of(content) if part.text]
    return "\n".join(part.text or "" for part in worded) if any(part.thought for part in worded) else None


def tool_calls(contents: Iterable[Content | None]) -> list[ToolCall]:
    """Returns every call of some messages, in order."""
    return [_call(part.function_call) for c in contents for part in parts_of(c) if part.function_call]


def tool_responses(contents: Iterable[Content | None]) -> list[ToolResponse]:
    """Returns every tool response of some messages, in order."""
    return [
        _answer(part.function_response) for c in contents for part in parts_of(c) if part.function_response
    ]


class AdkUnread:
    """What is not read of a turn.

    Attributes:
        ignored: Parts that google-adk's own scores ignore too: media, code that ran, server-side tools.
        strange: Keys and parts that google-adk 2.13 does not have.
    """

    def __init__(self) -> None:
        self.ignored, self.strange = Unread(), Unread()

    def add_to(self, turn: Turn) -> Turn:
        """Returns the turn, with what was found."""
        turn.adk_reads = True
        return self.strange.add_to(self.ignored.add_to(turn, adk_ignores=True))


def unread_content(content: Content | None, unread: AdkUnread, by_agent: bool) -> None:
    """Adds the parts of a message that are not read; a picture or a file beside a text hides no words."""
    has_text = bool(text(content))
    for part in parts_of(content):
        if part.function_call is not None and not by_agent:
            said = "a call in a message of the user is not read as the agent's"
            unread.ignored.add(UNREAD, said, calls=True)
        if part.text is None and part.function_call is None:
            for name in _NOT_READ:
                if (item := getattr(part, name)) is not None:
                    unread.ignored.part(name, by_agent and not (has_text and not _may_speak(item)))
        if part.model_extra:
            is_read = part.text is not None or part.function_call or part.function_response
            for name, item in part.model_extra.items():
                if not is_read or is_work(name) or may_hold_work(name, item):
                    unread.strange.part(name, by_agent)


def _may_speak(media: JsonObject) -> bool:
    kind = str(media.get("mime_type") or media.get("mimeType") or "")
    return kind.startswith(("audio/", "video/"))


def unread_event(event: AdkEvent, found: AdkUnread, by_agent: bool) -> None:
    """Adds the unread parts of an event."""
    unread_content(event.content, found, by_agent)
    extra, unread = event.model_extra or {}, found.strange
    unread.keys(extra, _EVENT_KEYS, by_agent)
    if event.actions.model_extra:
        unread.keys(event.actions.model_extra, _ACTION_KEYS, by_agent)
    if event.content is not None and event.content.model_extra:
        unread.keys(event.content.model_extra, frozenset(), by_agent)
    spoken = next((extra[name] for name in _SPOKEN if extra.get(name)), None)
    if spoken and not text(event.content):
        unread.add(UNREAD, "the transcription of what the agent said is not read", words=True)


def called_transfers(calls: Iterable[ToolCall]) -> list[str]:
    """Returns the agents that calls of `transfer_to_agent` hand over to, in order."""
    names = [(call.args or {}).get("agent_name") for call in calls if call.name == TRANSFER]
    return [name for name in names if isinstance(name, str)]


def inference_calls(events: Iterable[InvocationEvent]) -> int:
    """Counts the events of model calls, as google-adk does: those with usage or a model version."""
    return sum(event.usage_metadata is not None or event.model_version is not None for event in events)


def usage(events: Sequence[InvocationEvent]) -> Usage | None:
    """Returns the tokens of some events (input: prompt and tool use; output: candidates and thoughts).

    None: there are none, or a number is negative.
    """
    reports = [event.usage_metadata for event in events if event.usage_metadata]
    if not reports or any(wrong_tokens(vars(report)) for report in reports):
        return None
    return Usage(
        input_tokens=_sum(n for r in reports for n in (r.prompt_token_count, r.tool_use_prompt_token_count)),
        output_tokens=_sum(n for r in reports for n in (r.candidates_token_count, r.thoughts_token_count)),
        cached_tokens=_sum(r.cached_content_token_count for r in reports),
        reasoning_tokens=_sum(r.thoughts_token_count for r in reports),
    )


def _call(call: FunctionCall) -> ToolCall:
    return ToolCall(name=call.name, args=call.args, id=call.id)


def _answer(answer: FunctionResponse) -> ToolResponse:
    return ToolResponse(name=answer.name, id=answer.id, response=answer.response)


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
