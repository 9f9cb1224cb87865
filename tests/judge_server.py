"""A server that speaks the wires of Gemini, OpenAI and Anthropic, for tests and benchmarks.

Usage: python tests/judge_server.py [--port N] [--delay_ms N] [--key KEY] [--requests_per_minute N]
       [--script JSON]

It prints one line, its port, and serves on the loopback until it is terminated:

    POST /{version}/models/{model}:generateContent and :countTokens, also below Vertex AI's longer paths
    POST /v1/chat/completions, /v1/responses (OpenAI's) and /v1/messages (Anthropic's)
    GET  /v1/models[/{model}]
    POST, GET, DELETE /v1/files, /v1/batches, {model}:batchGenerateContent, batches/{job}: batch jobs
    POST /token      an access token, as Google's OAuth server gives it for a service account
    POST /script     takes a list of rules (below) in place of the present one, and forgets all statistics
    GET  /stats      what was asked: requests, calls in flight, statuses, tokens, bytes; ?times=1: when, in s
    GET  /last       path and body of the last request, and the bodies of all

A request is answered with a valid instance of the schema it brings (the first value of every enum), or with
the text "ok". The first rule that matches and is not spent changes that. Rules use Gemini's words, which the
other wires translate. A rule is an object:

    checks      applies to requests that only check a model, and not to those for an answer
    match       applies to requests that hold this text (in the JSON of the body)
    model       applies to requests to this model
    skip, every applies to the (skip + 1)-th match, and then to every so many-th one
    times       applies so often at most
    delay_ms    waits before it answers, besides --delay_ms
    status, headers, message, details, code, body an HTTP error, by the wire's error object or with that body
    values      {property: value}, set in every object of the made-up answer that has the property
    text, texts the answer's text; or a text per candidate
    parts       the answer's parts, as they are (Gemini's only)
    cut         so many characters are left of the text
    finish      finishReason (default STOP)
    block       promptFeedback.blockReason; there are no candidates then (Gemini's only)
    candidates  number of candidates, whatever was asked for
    usage       usageMetadata, in place of the counted one; null: none
    response    the whole JSON answer
    jobs        applies to batch jobs, not to their requests, which the other rules answer: polls (so often
                it is not ended), state (the word for its end), nameless (Gemini's responses lack keys),
                spoiled (file: it is gone; line: the first is broken, and one more is of another job)
    cut_body    the connection breaks after so many bytes of the answer
"""

import argparse
import asyncio
import contextlib
import json
import time
from collections import Counter, deque
from itertools import count

from aiohttp import web

try:
    from tests.judge_wires import CHAT, GEMINI, MESSAGES, RESPONSES
except ModuleNotFoundError:  # started as a script
    from judge_wires import CHAT, GEMINI, MESSAGES, RESPONSES


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
        self.files, self.jobs, self.numbers = {}, {}, count()
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
        self.bodies = []

    async def script(self, request):
        self.reset(await request.json())
        return web.json_response({})

    async def stats(self, request):
        answer = {
            "in_flight": self.in_flight,
            "max_in_flight": self.max_in_flight,
            "requests": self.counts["requests"],
            "checks": self.counts["checks"],
            "tokens_in": self.counts["tokens_in"],
            "tokens_out": self.counts["tokens_out"],
            "bytes_in": self.counts["bytes_in"],
            "broken_off": self.counts["broken_off"],
            "jobs": self.counts["jobs"],
            "lines": self.counts["lines"],
            "kept": len(self.files) + len(self.jobs),
            "statuses": dict(self.statuses),
            "models": dict(self.models),
            "rules_used": [rule.used for rule in self.rules],
        }
        if request.query.get("times"):
            answer["times"] = self.times
        return web.json_response(answer)

    async def last_request(self, _request):
        return web.json_response({**self.last, "bodies": self.bodies})

    async def token(self, _request):
        return web.json_response({"access_token": "loopback", "expires_in": 3600, "token_type": "Bearer"})

    async def ask_gemini(self, request):
        model, _, method = request.match_info["call"].rpartition(":")
        if method == "countTokens":
            return await self.checked(request, GEMINI, model, {"totalTokens": 1})
        if method == "batchGenerateContent":
            return await self.make_gemini_job(request, model)
        if method != "generateContent":
            return GEMINI.failure(404, {"message": f"no such method: {method}"})
        return await self.counted(request, GEMINI, model)

    async def list_models(self, _request):
        return web.json_response({"object": "list", "data": []})

    async def check_model(self, request):
        wire = MESSAGES if "x-api-key" in request.headers else CHAT
        model = request.match_info["model"]
        return await self.checked(request, wire, model, {"id": model, "object": "model"})

    def asking(self, wire):
        async def ask(request):
            return await self.counted(request, wire, (await request.json())["model"])

        return ask

    async def checked(self, request, wire, model, answer):
        self.counts["checks"] += 1
        if refused := self.refused(request, wire):
            return refused
        body = await request.text()
        rule = next((r.spec for r in self.rules if r.spec.get("checks") and r.applies(body, model)), {})
        if "status" in rule:
            return wire.failure(rule["status"], rule)
        return web.json_response(answer)

    def made_job(self, name, lines, wire, model, body):
        """Answers all requests of a job at once; it ends when it was looked at so often."""
        self.counts["jobs"] += 1
        self.counts["lines"] += len(lines)
        self.bodies.append(body)
        rules = (r.spec for r in self.rules if r.spec.get("jobs") and r.applies(body, model))
        rule = next(rules, {})
        if "status" in rule:
            return wire.failure(rule["status"], rule)
        job = f"batches/{next(self.numbers)}" if wire is GEMINI else f"batch_{next(self.numbers)}"
        answers = [(key, self.line(line, wire, model)) for key, line in lines]
        self.jobs[job] = {"name": name, "answers": answers, "rule": rule, "polls": rule.get("polls", 1)}
        return job

    def line(self, body, wire, model):
        rules = (r for r in self.rules if not (r.spec.get("jobs") or r.spec.get("checks")))
        rule = next((r.spec for r in rules if r.applies(json.dumps(body), model)), {})
        if "status" in rule:
            return rule["status"], {
                "error": {"code": rule["status"], "message": rule.get("message", "scripted")}
            }
        return 200, rule["response"] if "response" in rule else self.answer(body, wire, model, rule)

    def looked_at(self, job):
        """Returns the state of a job, and whether it has ended."""
        known = self.jobs[job]
        known["polls"] -= 1
        return known["rule"].get("state", "completed"), known["polls"] < 0

    async def make_gemini_job(self, request, model):
        if refused := self.refused(request, GEMINI):
            return refused
        body = await request.text()
        batch = json.loads(body)["batch"]
        inlined = batch["inputConfig"]["requests"]["requests"]
        lines = [(each["metadata"]["key"], each["request"]) for each in inlined]
        job = self.made_job(batch["displayName"], lines, GEMINI, model, body)
        if not isinstance(job, str):
            return job
        return web.json_response({"name": job, "metadata": {"state": "BATCH_STATE_PENDING"}})

    async def gemini_job(self, request):
        job = f"batches/{request.match_info['job']}"
        if job not in self.jobs:
            return GEMINI.failure(404, {"message": "no such job"})
        if request.method == "DELETE":
            del self.jobs[job]
            return web.json_response({})
        state, is_ended = self.looked_at(job)
        if not is_ended:
            return web.json_response({"name": job, "metadata": {"state": "BATCH_STATE_RUNNING"}})
        known = self.jobs[job]
        state = {"completed": "succeeded"}.get(state, state)
        answer = {"name": job, "done": True, "metadata": {"state": f"BATCH_STATE_{state.upper()}"}}
        if state != "succeeded":
            return web.json_response({**answer, "error": {"code": 13, "message": "the job broke"}})
        inlined = [
            {
                **({} if known["rule"].get("nameless") in (True, number) else {"metadata": {"key": key}}),
                **({"response": stated} if status == 200 else stated),
            }
            for number, (key, (status, stated)) in enumerate(known["answers"])
        ][:: known["rule"].get("order", 1)]
        if known["rule"].get("spoiled"):
            inlined = ["broken", *inlined[1:], {**inlined[0], "metadata": {"key": "other"}}]
        answer["metadata"]["output"] = {"inlinedResponses": {"inlinedResponses": inlined}}
        return web.json_response(answer)

    async def list_gemini_jobs(self, _request):
        jobs = [{"name": job, "metadata": {"displayName": each["name"]}} for job, each in self.jobs.items()]
        return web.json_response({"operations": jobs})

    async def add_file(self, request):
        form = await request.post()
        assert form["purpose"] == "batch"
        name = f"file-{next(self.numbers)}"
        self.files[name] = form["file"].file.read()
        return web.json_response({"id": name, "object": "file"})

    async def file(self, request):
        name = request.match_info["file"]
        if request.method == "DELETE":
            self.files.pop(name, None)
            return web.json_response({"id": name, "object": "file", "deleted": True})
        if name not in self.files:
            return CHAT.failure(404, {"message": "no such file"})
        return web.Response(body=self.files[name])

    async def make_openai_job(self, request):
        if refused := self.refused(request, CHAT):
            return refused
        stated = await request.json()
        content = self.files[stated["input_file_id"]].decode()
        lines = [json.loads(line) for line in content.splitlines()]
        assert {line["url"] for line in lines} == {stated["endpoint"]}
        wire = RESPONSES if stated["endpoint"] == RESPONSES.path else CHAT
        name, model = stated["metadata"]["turnwise"], lines[0]["body"]["model"]
        job = self.made_job(name, [(line["custom_id"], line["body"]) for line in lines], wire, model, content)
        if not isinstance(job, str):
            return job
        self.jobs[job]["input"] = stated["input_file_id"]
        return web.json_response(self.openai_job_stated(job, "validating"))

    def openai_job_stated(self, job, status, **fields):
        known = self.jobs[job]
        usual = {"id": job, "object": "batch", "endpoint": "/v1/chat/completions", "completion_window": "24h"}
        own = {"status": status, "input_file_id": known["input"], "metadata": {"turnwise": known["name"]}}
        return {**usual, "created_at": 1, **own, **fields}

    async def openai_job(self, request):
        job = request.match_info["job"]
        if job not in self.jobs:
            return CHAT.failure(404, {"message": "no such job"})
        state, is_ended = self.looked_at(job)
        if not is_ended:
            return web.json_response(self.openai_job_stated(job, "in_progress"))
        known = self.jobs[job]
        if state == "failed":
            errors = {"object": "list", "data": [{"code": "invalid", "message": "the job broke"}]}
            return web.json_response(self.openai_job_stated(job, state, errors=errors))
        lines = {"output_file_id": [], "error_file_id": []}
        for key, (status, stated) in known["answers"]:
            response = {"status_code": status, "body": stated}
            where = "output_file_id" if status == 200 else "error_file_id"
            lines[where].append(json.dumps({"custom_id": key, "response": response, "error": None}))
        names = {where: f"{job}-{where}" for where, of_file in lines.items() if of_file}
        spoiled = known["rule"].get("spoiled")
        if spoiled:
            first = lines["output_file_id"][0]
            lines["output_file_id"][:1] = [
                first[:9],
                "[]",
                first.replace('"custom_id": "', '"custom_id": "o'),
            ]
        if spoiled != "file":
            self.files |= {names[where]: "\n".join(lines[where]).encode() for where in names}
        return web.json_response(self.openai_job_stated(job, state, **names))

    async def list_openai_jobs(self, _request):
        jobs = [self.openai_job_stated(job, "in_progress") for job in self.jobs if "input" in self.jobs[job]]
        return web.json_response({"object": "list", "data": jobs, "has_more": False})

    async def counted(self, request, wire, model):
        refused = self.refused(request, wire)
        self.counts["requests"] += 1
        self.models[model] += 1
        self.times.append(time.monotonic())
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            response = refused or await self.generate(request, wire, model)
        except asyncio.CancelledError:
            self.counts["broken_off"] += 1
            raise
        finally:
            self.in_flight -= 1
        self.statuses[str(response.status)] += 1
        return response

    def refused(self, request, wire):
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        key = request.headers.get("x-goog-api-key") or request.headers.get("x-api-key") or bearer
        if self.key and key not in (self.key, "loopback"):
            reason = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
            message = f"API key not valid: {key}. Please pass a valid API key."
            wrong = {"message": message, "name": "INVALID_ARGUMENT", "details": [reason]}
            return wire.failure(wire.wrong_key, wrong)
        if self.per_minute:
            now = time.monotonic()
            while self.recent and now - self.recent[0] > 60:
                self.recent.popleft()
            if len(self.recent) >= self.per_minute:
                wait = {"Retry-After": str(int(60 - (now - self.recent[0])) + 1)}
                spent = {"message": "quota exceeded", "name": "RESOURCE_EXHAUSTED", "headers": wait}
                return wire.failure(429, spent)
            self.recent.append(now)
        return None

    async def generate(self, request, wire, model):
        body = await request.text()
        self.last = {"path": request.path, "text": body, "headers": dict(request.headers)}
        self.bodies.append(body)
        self.counts["bytes_in"] += len(body.encode())
        of_calls = (r for r in self.rules if not (r.spec.get("checks") or r.spec.get("jobs")))
        rule = next((r.spec for r in of_calls if r.applies(body, model)), {})
        if delay := self.delay_s + rule.get("delay_ms", 0) / 1000:
            await asyncio.sleep(delay)
        if "status" in rule:
            if "body" in rule:
                return web.Response(status=rule["status"], text=rule["body"], headers=rule.get("headers"))
            return wire.failure(rule["status"], rule)
        answer = rule["response"] if "response" in rule else self.answer(json.loads(body), wire, model, rule)
        if "cut_body" in rule:
            return await broken_off(request, json.dumps(answer).encode(), rule["cut_body"])
        return web.json_response(answer)

    def answer(self, body, wire, model, rule):
        tokens_in = sum(len(text.encode()) for text in wire.texts(body)) // 4
        written = [] if "block" in rule else self.written(wire.schema(body), wire.count(body), rule)
        tokens_out = sum(len(part.get("text", "").encode()) // 4 for parts in written for part in parts)
        usage = {"promptTokenCount": tokens_in, "candidatesTokenCount": tokens_out}
        usage = rule.get("usage", {**usage, "totalTokenCount": tokens_in + tokens_out})
        if usage is not None:
            self.counts["tokens_in"] += usage.get("promptTokenCount", 0)
            self.counts["tokens_out"] += usage.get("candidatesTokenCount", 0)
        return wire.answer(f"{model}-001", written, rule, usage)

    def written(self, schema, asked, rule):
        count = rule.get("candidates", asked)
        if "parts" in rule:
            return [rule["parts"]] * count
        text = "ok"
        if schema is not None:
            text = json.dumps(instance(schema, schema.get("$defs", {}), rule.get("values", {})))
        texts = rule.get("texts", [rule.get("text", text)] * count)
        return [[{"text": text[: rule.get("cut")]}] for text in texts[:count]]


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
    for wire in (CHAT, RESPONSES, MESSAGES):
        app.router.add_post(wire.path, server.asking(wire))
    app.router.add_get("/v1/models", server.list_models)
    app.router.add_post("/v1/files", server.add_file)
    app.router.add_get("/v1/files/{file}/content", server.file)
    app.router.add_delete("/v1/files/{file}", server.file)
    app.router.add_post("/v1/batches", server.make_openai_job)
    app.router.add_get("/v1/batches", server.list_openai_jobs)
    app.router.add_get("/v1/batches/{job}", server.openai_job)
    app.router.add_get("/v1beta/batches", server.list_gemini_jobs)
    app.router.add_get("/v1beta/batches/{job}", server.gemini_job)
    app.router.add_delete("/v1beta/batches/{job}", server.gemini_job)
    app.router.add_get("/v1/models/{model:.*}", server.check_model)
    app.router.add_post("/{path:.*}/models/{call}", server.ask_gemini)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", options.port, backlog=1024)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


def main():
    parser = argparse.ArgumentParser(description="Speaks the wires of judges.")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--delay_ms", type=float, default=0.0)
    parser.add_argument("--key", help="the only API key that is let in")
    parser.add_argument("--requests_per_minute", type=int, help="more than that are answered with 429")
    parser.add_argument("--script", default="[]", help="a JSON list of rules")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
