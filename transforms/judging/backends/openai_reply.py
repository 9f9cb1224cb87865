"""Reads the answers of OpenAI's chat completions and Responses API."""

from typing import Any

from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.judging.backends.base import Fault, RawReply
from turnwise.transforms.judging.backends.replied import (
    ReadAnswer,
    TokenFigures,
    cut_off,
    failed,
    replies_of,
    withheld,
    without_thoughts,
)

_FINISHED = (None, "", "stop", "end_turn", "eos", "eos_token", "stop_sequence")
_BROKEN_OFF = ("abort", "error")


def read_chat(body: str | bytes, model: str, count: int) -> list[RawReply]:
    """Returns `count` replies of chat completions; missing choices are faults. See `replies_of`."""
    return replies_of(body, model, count, _completion)


def read_response(body: str | bytes, model: str) -> list[RawReply]:
    """Returns the reply of the Responses API. See `replies_of`."""
    return replies_of(body, model, 1, _response)


def _completion(answer: JsonObject) -> ReadAnswer:
    texts = [_choice(choice) for choice in answer.get("choices") or []]
    tokens = _tokens(answer, "prompt_tokens", "completion_tokens")
    if not texts and answer.get("error"):  # a gateway's, whose status is 200
        return ReadAnswer(
            [], tokens, answer.get("model"), failed(answer["error"], "an error in place of an answer")
        )
    return ReadAnswer(texts, tokens, answer.get("model"))


def _choice(choice: JsonObject) -> str | Fault:
    finish = choice.get("finish_reason")
    if finish == "length":
        return cut_off(finish)
    if finish in _BROKEN_OFF:
        return failed(choice.get("error"), finish)
    if finish not in _FINISHED:
        return withheld(finish)
    message = choice["message"]
    if message.get("refusal"):
        return withheld("refusal")
    return without_thoughts(_content(message.get("content") or ""))


def _content(content: str | list[dict[str, Any]]) -> str:
    """Returns the text of a message; some servers divide it into parts, thoughts among them."""
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part["type"] == "text")


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
        return failed(answer.get("error"), str(status))
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
