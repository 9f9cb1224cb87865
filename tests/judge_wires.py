"""The wires of model APIs, as `judge_server.py` speaks them: what a request holds, answers and errors."""

import json

from aiohttp import web

_OF_CHAT = {"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "content_filter"}
_OF_MESSAGES = {"MAX_TOKENS": "max_tokens", "SAFETY": "refusal"}


class Gemini:
    """generateContent of the Gemini API and Vertex AI."""

    wrong_key = 400

    def texts(self, body):
        for content in [*body.get("contents", []), body.get("systemInstruction", {})]:
            yield from (part.get("text", "") for part in content.get("parts", []))

    def schema(self, body):
        return body.get("generationConfig", {}).get("responseJsonSchema")

    def count(self, body):
        return body.get("generationConfig", {}).get("candidateCount", 1)

    def answer(self, model, written, rule, usage):
        answer = {"modelVersion": model, "responseId": "1"}
        if "block" in rule:
            answer["promptFeedback"] = {"blockReason": rule["block"]}
        else:
            finish = rule.get("finish", "STOP")
            answer["candidates"] = [
                {"index": i, "content": {"role": "model", "parts": parts}, "finishReason": finish}
                for i, parts in enumerate(written)
            ]
        return answer if usage is None else {**answer, "usageMetadata": usage}

    def failure(self, status, rule):
        error = {"code": status, "message": rule.get("message", "scripted"), "status": _name(status, rule)}
        if rule.get("details"):
            error["details"] = rule["details"]
        return web.json_response({"error": error}, status=status, headers=rule.get("headers"))


class Chat:
    """OpenAI's chat completions."""

    path = "/{at:(openai/)?}v1/chat/completions"
    wrong_key = 401

    def texts(self, body):
        return [message["content"] for message in body["messages"]]

    def schema(self, body):
        return body.get("response_format", {}).get("json_schema", {}).get("schema")

    def count(self, body):
        return body.get("n", 1)

    def answer(self, model, written, rule, usage):
        finish = rule.get("finish", "STOP")
        refusal = rule.get("refusal")
        choices = [
            {
                "index": i,
                "message": {
                    "role": "assistant",
                    "content": None if refusal else _text(parts),
                    "refusal": refusal,
                },
                "finish_reason": _OF_CHAT.get(finish, finish),
            }
            for i, parts in enumerate(written)
        ]
        answer = {"id": "1", "object": "chat.completion", "created": 1, "model": model, "choices": choices}
        if usage is not None:
            tokens_in, tokens_out = _tokens(usage)
            answer["usage"] = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out}
        return answer

    def failure(self, status, rule):
        error = {
            "message": rule.get("message", "scripted"),
            "type": _name(status, rule),
            "code": rule.get("code"),
        }
        return web.json_response({"error": error}, status=status, headers=rule.get("headers"))


class Responses(Chat):
    """OpenAI's Responses API."""

    path = "/v1/responses"

    def texts(self, body):
        return [body["instructions"], body["input"]]

    def schema(self, body):
        return body.get("text", {}).get("format", {}).get("schema")

    def count(self, body):
        return 1

    def answer(self, model, written, rule, usage):
        finish = rule.get("finish", "STOP")
        why = {"MAX_TOKENS": "max_output_tokens", "SAFETY": "content_filter"}.get(finish, finish)
        content = [{"type": "output_text", "text": _text(parts), "annotations": []} for parts in written]
        if rule.get("refusal"):
            content = [{"type": "refusal", "refusal": rule["refusal"]}]
        answer = {
            "id": "1",
            "object": "response",
            "status": "completed" if finish == "STOP" else "incomplete",
            "incomplete_details": None if finish == "STOP" else {"reason": why},
            "model": model,
            "output": [{"type": "reasoning", "summary": []}, {"type": "message", "content": content}],
        }
        if usage is not None:
            tokens_in, tokens_out = _tokens(usage)
            answer["usage"] = {"input_tokens": tokens_in, "output_tokens": tokens_out}
        return answer


class Messages:
    """Anthropic's Messages API."""

    path = "/v1/messages"
    wrong_key = 401

    def texts(self, body):
        return [body["system"], *(message["content"] for message in body["messages"])]

    def schema(self, body):
        return body["tools"][0]["input_schema"] if "tools" in body else None

    def count(self, body):
        return 1

    def answer(self, model, written, rule, usage):
        finish = rule.get("finish", "tool_use")
        content = [_block(_text(parts)) for parts in written]
        answer = {"id": "1", "type": "message", "role": "assistant", "model": model, "content": content}
        answer["stop_reason"] = _OF_MESSAGES.get(finish, finish)
        if usage is not None:
            tokens_in, tokens_out = _tokens(usage)
            answer["usage"] = {"input_tokens": tokens_in, "output_tokens": tokens_out}
        return answer

    def failure(self, status, rule):
        error = {"message": rule.get("message", "scripted"), "type": _name(status, rule)}
        body = {"type": "error", "error": error}
        return web.json_response(body, status=status, headers=rule.get("headers"))


def _name(status, rule):
    return rule.get("name") or f"HTTP_{status}"


def _text(parts):
    return "".join(part.get("text", "") for part in parts)


def _tokens(usage):
    tokens_out = usage.get("candidatesTokenCount", 0) + usage.get("thoughtsTokenCount", 0)
    return usage.get("promptTokenCount", 0), tokens_out


def _block(text):
    """Returns a call of the tool where the text is JSON, as a model calls it; else text."""
    try:
        return {"type": "tool_use", "id": "1", "name": "reply", "input": json.loads(text)}
    except ValueError:
        return {"type": "text", "text": text}


GEMINI, CHAT, RESPONSES, MESSAGES = Gemini(), Chat(), Responses(), Messages()
