"""What a LangChain message of a model holds beside its content: tokens, the finish reason, a refusal."""

from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.values import as_object
from turnwise.transforms.formats.spellings import as_text, usage_fields

_REASONS = ("finish_reason", "stop_reason", "stopReason")


def refusal_of(message: JsonObject) -> str:
    """Returns a refusal or the transcript of speech, which integrations keep apart from an empty content."""
    extra = as_object(message.get("additional_kwargs"))
    return as_text(extra.get("refusal") or as_object(extra.get("audio")).get("transcript")) or ""


def add_usage(message: JsonObject, log: Dialogue) -> None:
    """Adds the tokens of a message, which older versions keep in the metadata of the response."""
    usage, about = as_object(message.get("usage_metadata")), as_object(message.get("response_metadata"))
    older = as_object(about.get("token_usage") or about.get("usage"))
    if not usage and older:
        log.usage(usage_fields(older))
        return
    log.usage(
        {
            **{name: usage.get(name) for name in ("input_tokens", "output_tokens")},
            "cached_tokens": as_object(usage.get("input_token_details")).get("cache_read"),
            "reasoning_tokens": as_object(usage.get("output_token_details")).get("reasoning"),
        }
    )


def finish_reason(message: JsonObject) -> str | None:
    """Returns why the model stopped."""
    about = as_object(message.get("response_metadata"))
    reason = next((about[key] for key in _REASONS if about.get(key)), None)
    return as_text(reason or as_object(about.get("incomplete_details")).get("reason"))
