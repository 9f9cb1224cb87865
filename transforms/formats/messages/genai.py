"""Messages of OpenTelemetry's conventions for generative AI, outside of spans."""

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.kinds import AGENT, SYSTEM, TOOL, USER
from turnwise.transforms.formats.messages.messages_base import (
    ATTRIBUTES,
    Dialect,
    messages_in,
    register_dialect,
)
from turnwise.transforms.formats.messages.parts import SpanMessage
from turnwise.transforms.formats.messages.spellings import read_message
from turnwise.transforms.formats.messages.streams import decoded, listed, objects

_OUTPUTS = ("output_messages", "outputMessages", "output")
_CALLS = ("tool_call", "tool_call_response", "server_tool_call", "server_tool_call_response")


def _parts(message: JsonObject) -> list[JsonObject]:
    parts = message.get("parts")
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _fits(message: JsonObject) -> bool:
    return "role" in message and any(
        part.get("type") in _CALLS or (isinstance(part.get("type"), str) and "content" in part)
        for part in _parts(message)
    )


def _outputs(record: JsonObject) -> JsonValue:
    """Returns the messages that a model answered with; None: they do not stand beside the others."""
    found = [record.get(key) for key in _OUTPUTS]
    if messages_in(record)[0] == ATTRIBUTES[0]:
        found.append(decoded(record.get(ATTRIBUTES[1])))
    return next((each for each in found if _is_output(each)), None)


def _is_output(value: JsonValue) -> bool:
    return isinstance(value, list) and any(isinstance(each, dict) and _fits(each) for each in value)


def read_messages(messages: list[JsonValue], log: Dialogue) -> None:
    """Adds messages to a dialogue, in order; raises ValueError for a value of the wrong type."""
    for value in objects(messages, "messages"):
        listed(value.get("parts"), "parts")
        for message in read_message(value, USER):
            if message.role != SYSTEM:
                _add(message, log)
            if message.role == AGENT:
                log.said(value)


def _add(message: SpanMessage, log: Dialogue) -> None:
    by_user = message.role in (USER, TOOL) and bool(message.texts or message.parts or not message.results)
    for result in message.results if by_user else ():
        log.result(result.response, result.id, result.name, result.error)
    if message.role == USER and by_user and (message.is_users or message.results or not message.texts):
        log.user(message.text)
    elif message.role == AGENT:
        log.agent(message.text)
    for call in message.calls:
        log.call(call.name, call.args, call.id)
    for result in () if by_user else message.results:
        log.result(result.response, result.id, result.name, result.error)
    message.add_unread(log.unread, message.role != USER)
    log.finish = message.finish


register_dialect(
    Dialect(
        name="genai_messages",
        keys=(("input_messages", "output_messages"),),
        help="messages of OpenTelemetry's conventions for generative AI, outside of spans",
        fits=_fits,
        read=read_messages,
        reply=lambda record, log: read_messages(listed(_outputs(record), "output_messages"), log),
        is_reply=lambda record: _outputs(record) is not None,
    )
)
