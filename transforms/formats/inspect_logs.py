"""Logs of Inspect: samples of an evaluation, each a conversation."""

from collections.abc import Sequence
from functools import partial

from turnwise.schemas.conversation import Conversation, Record
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.endings import UNKNOWN, End, error_end
from turnwise.transforms.formats.messages.blocks import as_blocks
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.values import (
    as_object,
    decoded,
    joined_texts,
    kind_of,
    objects,
    text_at,
)
from turnwise.transforms.formats.registry import Format, ReadSettings, register_format
from turnwise.transforms.formats.spellings import as_text, failure_mark, length

_ATTACHED = "attachment://"
_STEPLESS = ("reasoning", "data")


def _is_log(record: JsonObject) -> bool:
    return isinstance(record.get("samples"), list) and isinstance(record.get("eval"), dict)


def _read(value: JsonValue, record: Record, settings: ReadSettings) -> Sequence[Conversation | ValueError]:
    found: list[Conversation | ValueError] = []
    for sample in objects(as_object(value).get("samples"), "samples"):
        try:
            found.append(_conversation(sample, as_object(value.get("eval"))))
        except ValueError as error:
            found.append(error)
    return found


def _conversation(sample: JsonObject, about: JsonObject) -> Conversation:
    log = Dialogue()
    attached = as_object(sample.get("attachments"))
    for message in objects(sample.get("messages"), "messages"):
        _add(message, log, partial(_whole, attached))
    output = as_object(sample.get("output"))
    choices = output.get("choices")
    first = as_object(choices[0]) if isinstance(choices, list) and choices else {}
    # Agents take their call of `submit` out of the last message.
    is_submitted = first.get("stop_reason") == "tool_calls" and log.last == "agent"
    log.finish = None if is_submitted else first.get("stop_reason")
    end = _end(sample, log)
    _measure(sample, output, log)
    scores = as_object(sample.get("scores"))
    names = (about.get("run_id"), sample.get("id"), sample.get("epoch"))
    return Conversation(
        conversation_id="/".join(str(name) for name in names if name is not None),
        source="inspect",
        app_version=as_text(as_object(about.get("revision")).get("commit")),
        start_time=as_text(about.get("created")),
        turns=log.close(end),
        ended=end.ended,
        ended_detail=end.detail,
        labels={name: as_object(score).get("value") for name, score in scores.items()},
        meta={
            "task_id": sample.get("id"),
            "trial": sample.get("epoch"),
            "task": about.get("task"),
            "model": about.get("model"),
        },
    )


def _end(sample: JsonObject, log: Dialogue) -> End:
    error, limit = sample.get("error"), sample.get("limit")
    if error:
        return error_end(as_object(error).get("message") or error)
    if limit:
        return End("limit", str(as_object(limit).get("type") or limit))
    return log.end({}) if log.steps else UNKNOWN


def _whole(attached: JsonObject, text: str) -> str:
    """Returns a text, or the attachment that it names."""
    found = attached.get(text.removeprefix(_ATTACHED)) if text.startswith(_ATTACHED) else None
    return found if isinstance(found, str) else text


def _add(message: JsonObject, log: Dialogue, whole: "partial[str]") -> None:
    role = message.get("role")
    if role == "system":
        return
    content = message.get("content")
    parts = as_blocks(content)
    said = whole(joined_texts([text_at(part, "text") for part in parts if kind_of(part) == "text"]))
    if role == "user":
        log.user(said)
    elif role == "assistant":
        _add_agent(message, parts, said, log)
    elif role == "tool":
        error = as_object(message.get("error"))
        words = error.get("message") or error.get("type") or failure_mark(message)
        log.result(decoded(said), message.get("tool_call_id"), message.get("function"), words)
    else:
        log.unread.role(role)
    for part in parts:
        if kind_of(part) not in ("text", "tool_use", *_STEPLESS):
            log.unread.part(kind_of(part), role == "assistant")


def _add_agent(message: JsonObject, parts: Sequence[JsonObject], said: str, log: Dialogue) -> None:
    for part in parts:
        if kind_of(part) == "tool_use":
            log.call(part.get("name"), part.get("arguments"), part.get("id"))
            log.result(decoded(part.get("result")), part.get("id"), part.get("name"), failure_mark(part))
    log.agent(said)
    for call in objects(message.get("tool_calls"), "tool_calls"):
        log.call(call.get("function"), call.get("arguments"), call.get("id"))
        if call.get("parse_error"):
            error = str(call["parse_error"])[:100]
            log.unread.add("InvalidCall", f"the arguments of a call could not be read: {error}")


def _measure(sample: JsonObject, output: JsonObject, log: Dialogue) -> None:
    """Adds tokens and times, which the log states of the sample, if it has one turn."""
    if len(log.turns) != 1:
        return
    reports = [as_object(usage) for usage in as_object(sample.get("model_usage")).values()]
    for usage in reports or [as_object(output.get("usage"))]:
        cached = usage.get("input_tokens_cache_read")
        log.usage(
            {
                **{name: usage.get(name) for name in ("input_tokens", "output_tokens", "reasoning_tokens")},
                "cached_tokens": cached,
            }
        )
    seconds = sample.get("total_time")
    if isinstance(seconds, int | float) and not isinstance(seconds, bool):
        log.turn.latency_ms = length(seconds * 1000)


register_format(
    Format(
        name="inspect_log",
        keys=("eval", "samples", "version"),
        help="logs of Inspect (`.eval` and `.json`), a conversation a sample",
        rank=22,
        recognises=_is_log,
        read_log=_read,
        has_rubrics=False,
    )
)
