"""Reads the answers of OpenAI's chat completions and Responses API."""

from typing import Any

from turnwise.schemas.values import JsonObject
from turnwise.transforms.judging.backends.base import Fault, RawReply
from turnwise.transforms.judging.backends.replied import (
    ReadAnswer,
    TokenFigures,
    cut_off,
    replies_of,
    withheld,
    without_thoughts,
)

_FINISHED = (None, "stop")


def read_chat(body: str | bytes, model: str, count: int) -> list[RawReply]:
    """Returns `count` replies of chat completions; missing choices are faults. See `replies_of`."""
    return replies_of(body, model, count, _completion)


def read_response(body: str | bytes, model: str) -> list[RawReply]:
    """Returns the reply of the Responses API. See `replies_of`."""
    return replies_of(body, model, 1, _response)


def _completion(answer: JsonObject) -> ReadAnswer:
    texts = [_choice(choice) for choice in answer.get("choices") or []]
    return ReadAnswer(texts, _tokens(answer, "prompt_tokens", "completion_tokens"), answer.get("model"))


def _choice(choice: JsonObject) -> str | Fault:
    finish = choice.get("finish_reason")
    if finish == "length":
        return cut_off(finish)
    if finish not in _FINISHED:
        return withheld(finish)
    message = choice["message"]
    if message.get("refusal"):
        return withheld("refusal")
    return without_thoughts(message.get("content") or "")


def _response(answer: JsonObject) -> ReadAnswer:
    return ReadAnswer(
        [_output(answer)], _tokens(answer, "input_tokens", "output_tokens"), answer.get("model")
    )


def _output(answer: JsonObject) -> str | Fault:
    status = answer["status"]
    if status == "incomplete":
        why = (answer.get("incomplete_details") or {}).get("reason")
        return cut_off(why) if why == "max_output_tokens" else withheld(str(why))
    if status != "completed":
        return withheld(str((answer.get("error") or {}).get("code") or status))
    parts = _parts(answer)
    if any(part["type"] == "refusal" for part in parts):
        return withheld("refusal")
    return without_thoughts("".join(part["text"] for part in parts if part["type"] == "output_text"))


def _parts(answer: JsonObject) -> list[dict[str, Any]]:
    messages = [item for item in answer.get("output") or [] if item["type"] == "message"]
    return [part for message in messages for part in message["content"]]


def _tokens(answer: JsonObject, name_in: str, name_out: str) -> TokenFigures:
    usage = answer.get("usage") or {}
    tokens_in, tokens_out = usage.get(name_in), usage.get(name_out)
    return None if tokens_in is None or tokens_out is None else (int(tokens_in), int(tokens_out))
