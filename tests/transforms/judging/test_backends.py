"""What the clients of Gemini, OpenAI and Anthropic send, and what becomes of their replies."""

import json
from base64 import b64encode
from urllib.parse import quote

import pytest

from tests.served import in_environment
from tests.tables import stated
from turnwise.schemas.config import JudgeConfig
from turnwise.transforms.judging.backends.base import RawReply, cleaned, without_key
from turnwise.transforms.judging.backends.calling import strict_schema
from turnwise.transforms.judging.judges import JUDGES
from turnwise.transforms.judging.setup import JudgeWorker

GOOD = {"quote": "the words", "verdict": "valid"}


ALL = ["chat", "responses", "messages"]
on_every = pytest.mark.parametrize("wire", ["gemini", *ALL], indirect=True)


@on_every
def test_a_reply_by_the_schema(server, ask, question, wire):
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 1, "thoughtsTokenCount": 3}
    server.script({"values": {"quote": "Grüße, 감사합니다"}, "usage": usage})
    (sample,) = ask(asked=question("evidence <1> & 문의"))
    assert (sample.reply.quote, sample.reply.verdict) == ("Grüße, 감사합니다", "valid")
    assert sample.model == f"{wire.model.removeprefix('responses/')}-001"
    assert (sample.tokens_in, sample.tokens_out, sample.is_cached) == (9, 4, False)


def test_azure_is_asked_as_openai_is(server, settings, question):
    """The schema is not in the instructions, because OpenAI shows it to the model."""
    worker = JudgeWorker(
        settings(backend="azure", model="d", base_url=server.url, generation_config={"max_output_tokens": 9}),
        {"AZURE_OPENAI_API_KEY": server.key},
    )
    worker.submit(worker.ask(question(instructions="Judge."), range(1))).result()
    worker.close()
    body = json.loads(server.last()["text"])
    assert server.last()["path"] == "/openai/v1/chat/completions"
    assert (body["messages"][0]["content"], body["max_completion_tokens"]) == ("Judge.", 9)


@pytest.mark.parametrize("wire", ["chat"], indirect=True)
def test_a_schema_that_is_refused_concerns_no_others(server, open_worker, question):
    message = "Invalid schema for response_format 'reply': In context=(), 'oneOf' is not permitted."
    server.script(
        {"match": "Odd.", "status": 400, "message": message, "times": 1}, {"text": json.dumps(GOOD)}
    )
    worker = open_worker(run_id="one schema")
    for instructions, has_format in [("Odd.", False), ("Plain.", True), ("Odd.", False)]:
        worker.submit(worker.ask(question(instructions=instructions), range(1))).result()
        assert ("response_format" in server.last()["text"]) is has_format
    assert server.stats()["requests"] == 4


@stated("address", "backend, given, url")
def test_addresses(backend, given, url):
    """The usual address, written out, is that of the API itself: its models are checked."""
    kind, variable = JUDGES[backend], f"{backend.upper()}_API_KEY"
    for config, environ in (({"base_url": given}, {}), ({}, {f"{backend.upper()}_BASE_URL": given})):
        access = kind.access(JudgeConfig(**config), {variable: "k", **environ})
        assert (access.base_url, access.endpoint) == (url, url or backend)


@pytest.mark.parametrize("wire", ["messages"], indirect=True)
def test_only_the_key_that_is_named_is_sent(server, ask):
    with in_environment({"ANTHROPIC_AUTH_TOKEN": "another-secret"}):
        assert ask(run_id="another token")[0].reply
    assert "another-secret" not in str(server.last())


KEY = "sk-test/4711+geheim=="


@stated("key", "text, kept")
def test_what_looks_like_a_key_is_not_kept(text, kept):
    assert without_key(text, KEY) == kept


SPELLINGS = [KEY, quote(KEY, safe=""), b64encode(KEY.encode()).decode()]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_spelling_of_the_key_is_kept(spelling):
    assert spelling.rstrip("=") not in without_key(f"refused: {spelling} is no key", KEY)
    reply = cleaned(RawReply(f"because of {KEY}", model=f"m-{spelling}"), KEY)
    assert KEY not in (reply.text or "") and spelling.rstrip("=") not in reply.model


@on_every
def test_a_long_answer_of_a_gateway_is_cut(server, ask):
    server.script({"status": 400, "body": "<html>" + "x" * 100_000 + server.key})
    (sample,) = ask(max_attempts=1)
    assert sample.reply is None and len(sample.reason) <= 200 and server.key not in sample.reason


def test_strict_schemas():
    item = {"type": "object", "title": "I", "properties": {"a": {"type": "string", "maxLength": 3}}}
    ref = {"$ref": "#/$defs/I"}
    lists = {"type": "array", "items": ref}
    fields = {"title": {**ref, "description": "One."}, "all": {**lists, "default": []}}
    closed = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    closed["required"] = ["a"]
    assert strict_schema({"$defs": {"I": item}, "type": "object", "properties": fields}) == {
        "$defs": {"I": closed},
        "type": "object",
        "properties": {"title": {**closed, "description": "One."}, "all": lists},
        "additionalProperties": False,
        "required": ["title", "all"],
    }
    assert strict_schema({"type": "object", "additionalProperties": {"type": "string"}}) is None
