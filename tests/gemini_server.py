"""A server that speaks Gemini's generateContent and its errors, for tests and benchmarks.

Usage: python tests/gemini_server.py [--port N] [--delay_ms N] [--key KEY] [--requests_per_minute N]
       [--script JSON]

It prints one line, its port, and serves on the loopback until it is terminated:

    POST /{version}/models/{model}:generateContent and :countTokens, also below Vertex AI's longer paths
    POST /token      an access token, as Google's OAuth server gives it for a service account
    POST /script     takes a list of rules (below) in place of the present one, and forgets all statistics
    GET  /stats      what was asked: requests, calls in flight, statuses, tokens, bytes; ?times=1: when, in s
    GET  /last       path and body of the last request

A request is answered with a valid instance of the `responseJsonSchema` it brings (the first value of every
enum), or with the text "ok". The first rule that matches and is not spent changes that. A rule is an object:

    count_tokens applies to :countTokens and not to :generateContent
    match       applies to requests that hold this text (in the JSON of the body)
    model       applies to requests to this model
    skip, every applies to the (skip + 1)-th match, and then to every so many-th one
    times       applies so often at most
    delay_ms    waits before it answers, besides --delay_ms
    status, headers, message, details, body       an HTTP error, by Google's error object or with that body
    values      {property: value}, set in every object of the made-up answer that has the property
    text, texts the answer's text; or a text per candidate
    parts       the answer's parts, as they are
    cut         so many characters are left of the text
    finish      finishReason (default STOP)
    block       promptFeedback.blockReason; there are no candidates then
    candidates  number of candidates, whatever was asked for
    usage       usageMetadata, in place of the counted one; null: none
    response    the whole JSON answer
    cut_body    the connection breaks after so many bytes of the answer
"""

import argparse
import asyncio
import contextlib
import json
import time
from collections import Counter, deque

from aiohttp import web


class Rule:
    def __init__(self, spec):
        self.spec = spec
        self.seen = 0
        self.used = 0

    def applies(self, body, model):
        spec = self.spec
        if spec.get("match", "") not in body or spec.get("model", model) != model:
            return False
        if self.used >= spec.get("times", float("inf")):
            return False
        self.seen += 1
        number = self.seen - spec.get("skip", 0) - 1
        if number < 0 or number % spec.get("every", 1):
            return False
        self.used += 1
        return True


class Server:
    def __init__(self, options):
        self.delay_s = options.delay_ms / 1000
        self.key = options.key
        self.per_minute = options.requests_per_minute
        self.recent = deque()
        self.reset(json.loads(options.script))

    def reset(self, rules):
        self.rules = [Rule(spec) for spec in rules]
        self.in_flight = 0
        self.max_in_flight = 0
        self.counts = Counter()
        self.statuses = Counter()
        self.models = Counter()
        self.times = []
        self.last = {}

    async def script(self, request):
        self.reset(await request.json())
        return web.json_response({})

    async def stats(self, request):
        answer = {
            "in_flight": self.in_flight,
            "max_in_flight": self.max_in_flight,
            "requests": self.counts["requests"],
            "count_tokens": self.counts["count_tokens"],
            "tokens_in": self.counts["tokens_in"],
            "tokens_out": self.counts["tokens_out"],
            "bytes_in": self.counts["bytes_in"],
            "broken_off": self.counts["broken_off"],
            "statuses": dict(self.statuses),
            "models": dict(self.models),
            "rules_used": [rule.used for rule in self.rules],
        }
        if request.query.get("times"):
            answer["times"] = self.times
        return web.json_response(answer)

    async def last_request(self, _request):
        return web.json_response(self.last)

    async def token(self, _request):
        return web.json_response({"access_token": "loopback", "expires_in": 3600, "token_type": "Bearer"})

    async def ask(self, request):
        model, _, method = request.match_info["call"].rpartition(":")
        refused = self.refused(request)
        if method == "countTokens":
            self.counts["count_tokens"] += 1
            return refused or await self.count_tokens(request, model)
        if method != "generateContent":
            return failure(404, f"no such method: {method}")
        self.counts["requests"] += 1
        self.models[model] += 1
        self.times.append(time.monotonic())
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            response = refused or await self.generate(request, model)
        except asyncio.CancelledError:
            self.counts["broken_off"] += 1
            raise
        finally:
            self.in_flight -= 1
        self.statuses[str(response.status)] += 1
        return response

    def refused(self, request):
        key = request.headers.get("x-goog-api-key")
        if self.key and key != self.key and request.headers.get("authorization") != "Bearer loopback":
            reason = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
            message = f"API key not valid: {key}. Please pass a valid API key."
            return failure(400, message, "INVALID_ARGUMENT", [reason])
        if self.per_minute:
            now = time.monotonic()
            while self.recent and now - self.recent[0] > 60:
                self.recent.popleft()
            if len(self.recent) >= self.per_minute:
                wait = {"Retry-After": str(int(60 - (now - self.recent[0])) + 1)}
                return failure(429, "quota exceeded", "RESOURCE_EXHAUSTED", headers=wait)
            self.recent.append(now)
        return None

    async def count_tokens(self, request, model):
        body = await request.text()
        rule = next((r.spec for r in self.rules if r.spec.get("count_tokens") and r.applies(body, model)), {})
        if "status" in rule:
            return failure(rule["status"], rule.get("message", "scripted"))
        return web.json_response({"totalTokens": len(body) // 4})

    async def generate(self, request, model):
        body = await request.text()
        self.last = {"path": request.path, "text": body, "headers": dict(request.headers)}
        self.counts["bytes_in"] += len(body.encode())
        rules = (r.spec for r in self.rules if not r.spec.get("count_tokens") and r.applies(body, model))
        rule = next(rules, {})
        if delay := self.delay_s + rule.get("delay_ms", 0) / 1000:
            await asyncio.sleep(delay)
        if "status" in rule:
            if "body" in rule:
                return web.Response(status=rule["status"], text=rule["body"], headers=rule.get("headers"))
            return failure(
                rule["status"],
                rule.get("message", "scripted"),
                rule.get("name"),
                rule.get("details"),
                rule.get("headers"),
            )
        answer = rule["response"] if "response" in rule else self.answer(json.loads(body), model, rule)
        if "cut_body" in rule:
            return await broken_off(request, json.dumps(answer).encode(), rule["cut_body"])
        return web.json_response(answer)

    def answer(self, body, model, rule):
        answer = {"modelVersion": f"{model}-001", "responseId": str(self.counts["requests"])}
        tokens_in = sum(len(text.encode()) for text in texts_of(body)) // 4
        if "block" in rule:
            answer["promptFeedback"] = {"blockReason": rule["block"]}
            written = []
        else:
            written = self.written(body.get("generationConfig", {}), rule)
            answer["candidates"] = [
                {
                    "index": i,
                    "content": {"role": "model", "parts": parts},
                    "finishReason": rule.get("finish", "STOP"),
                }
                for i, parts in enumerate(written)
            ]
        tokens_out = sum(len(part.get("text", "").encode()) // 4 for parts in written for part in parts)
        usage = {"promptTokenCount": tokens_in, "candidatesTokenCount": tokens_out}
        usage = rule.get("usage", {**usage, "totalTokenCount": tokens_in + tokens_out})
        if usage is not None:
            answer["usageMetadata"] = usage
            self.counts["tokens_in"] += usage.get("promptTokenCount", 0)
            self.counts["tokens_out"] += usage.get("candidatesTokenCount", 0)
        return answer

    def written(self, config, rule):
        count = rule.get("candidates", config.get("candidateCount", 1))
        if "parts" in rule:
            return [rule["parts"]] * count
        schema = config.get("responseJsonSchema")
        text = "ok"
        if schema is not None:
            text = json.dumps(instance(schema, schema.get("$defs", {}), rule.get("values", {})))
        texts = rule.get("texts", [rule.get("text", text)] * count)
        return [[{"text": text[: rule.get("cut")]}] for text in texts[:count]]


def texts_of(body):
    for content in [*body.get("contents", []), body.get("systemInstruction", {})]:
        yield from (part.get("text", "") for part in content.get("parts", []))


def failure(status, message, name=None, details=None, headers=None):
    error = {"code": status, "message": message, "status": name or f"HTTP_{status}"}
    if details:
        error["details"] = details
    return web.json_response({"error": error}, status=status, headers=headers)


async def broken_off(request, content, length):
    response = web.StreamResponse(
        headers={"Content-Length": str(len(content)), "Content-Type": "application/json"}
    )
    await response.prepare(request)
    await response.write(content[:length])
    request.transport.close()
    return response


def instance(schema, definitions, values):
    """Returns a value that a JSON schema allows."""
    if "$ref" in schema:
        return instance(definitions[schema["$ref"].rpartition("/")[2]], definitions, values)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return instance(options[0], definitions, values)
    kind = schema.get("type")
    if kind == "object":
        return {
            name: values[name] if name in values else instance(each, definitions, values)
            for name, each in schema.get("properties", {}).items()
        }
    if kind == "array":
        count = max(1, schema.get("minItems", 1))
        return [instance(schema.get("items", {}), definitions, values) for _ in range(count)]
    if kind in ("integer", "number"):
        return schema.get("minimum", 1)
    return {"boolean": True, "null": None}.get(kind, "text")


async def serve(options):
    server = Server(options)
    app = web.Application(client_max_size=64 * 2**20)
    app.router.add_post("/script", server.script)
    app.router.add_post("/token", server.token)
    app.router.add_get("/stats", server.stats)
    app.router.add_get("/last", server.last_request)
    app.router.add_post("/{path:.*}/models/{call}", server.ask)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", options.port, backlog=1024)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


def main():
    parser = argparse.ArgumentParser(description="Speaks Gemini's generateContent.")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--delay_ms", type=float, default=0.0)
    parser.add_argument("--key", help="the only API key that is let in")
    parser.add_argument("--requests_per_minute", type=int, help="more than that are answered with 429")
    parser.add_argument("--script", default="[]", help="a JSON list of rules")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
