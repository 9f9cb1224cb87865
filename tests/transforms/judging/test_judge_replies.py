import asyncio
import json

import pytest
from pydantic import BaseModel

from turnwise.transforms.judging.backends.gemini import read_answer

GOOD = {"quote": "the words", "verdict": "valid"}


def test_a_reply_by_the_schema(server, ask, question):
    server.script({"values": {"quote": "Grüße, 감사합니다"}})
    (sample,) = ask(asked=question("evidence <1> & 문의"))
    assert (sample.reply.quote, sample.reply.verdict) == ("Grüße, 감사합니다", "valid")
    assert (sample.reason, sample.model, sample.is_cached) == (None, "gemini-2.5-flash-001", False)
    assert sample.tokens_in > 0
    assert sample.tokens_out > 0


def test_what_a_request_says(server, ask, question):
    asked = question("The evidence.", instructions="The instructions.", judge_model_config={"topK": 3})
    ask(asked=asked, generation_config={"temperature": 0.5, "top_k": 9})
    body = json.loads(server.last()["text"])
    assert body["systemInstruction"]["parts"] == [{"text": "The instructions."}]
    assert body["contents"] == [{"role": "user", "parts": [{"text": "The evidence."}]}]
    config = body["generationConfig"]
    schema = asked.reply_model.model_json_schema()
    assert config.pop("responseJsonSchema") == {**schema, "propertyOrdering": ["quote", "verdict"]}
    assert config == {"responseMimeType": "application/json", "temperature": 0.5, "topK": 3}
    assert server.last()["path"] == "/v1beta/models/gemini-2.5-flash:generateContent"


def test_a_criterions_model_goes_before_the_runs(server, ask, question):
    (sample,) = ask(asked=question(judge_model="gemini-other"), model="gemini-of-the-run")
    assert sample.model == "gemini-other-001"
    assert server.stats()["models"] == {"gemini-other": 1}


REPLIES = [
    ({"text": json.dumps(GOOD)}, None),
    ({"text": f"```json\n{json.dumps(GOOD)}\n```"}, None),
    ({"text": f"  ```\n{json.dumps(GOOD)}```\n"}, None),
    (
        {
            "parts": [
                {"text": "hm {", "thought": True},
                {"text": '{"quote": "the words", '},
                {"text": '"verdict": "valid"}'},
            ]
        },
        None,
    ),
    ({"text": "valid"}, "the reply is broken JSON"),
    ({"text": json.dumps(GOOD), "cut": 20}, "the reply is broken JSON"),
    ({"text": f"Sure: {json.dumps(GOOD)}"}, "the reply is broken JSON"),
    (
        {"text": '{"quote": "x", "verdict": "perhaps"}'},
        "the reply is outside the schema: verdict: Input should be 'valid' or 'invalid'",
    ),
    ({"text": '{"quote": "x"}'}, "the reply is outside the schema: verdict: Field required"),
    (
        {"text": '{"quote": "x", "verdict": "valid", "more": 1}'},
        "the reply is outside the schema: more: Extra inputs are not permitted",
    ),
    ({"text": "[]"}, "the reply is outside the schema: the whole: Input should be an object"),
    ({"text": ""}, "the model gave no answer"),
    ({"parts": []}, "the model gave no answer"),
    ({"parts": [{"text": "only a thought", "thought": True}]}, "the model gave no answer"),
    ({"candidates": 0}, "the model gave no answer"),
    ({"response": {}}, "the model gave no answer"),
    ({"block": "SAFETY"}, "the question was blocked: SAFETY"),
    ({"finish": "SAFETY"}, "the answer was withheld: SAFETY"),
    ({"finish": "RECITATION"}, "the answer was withheld: RECITATION"),
    ({"finish": "A_NEW_REASON"}, "the answer was withheld: A_NEW_REASON"),
    ({"finish": "MAX_TOKENS", "cut": 9}, "the answer was cut off at its token limit (MAX_TOKENS)"),
    ({"response": ["no object"]}, "the API's response is broken"),
]


@pytest.mark.parametrize(("rule", "reason"), REPLIES)
def test_what_becomes_of_a_reply(server, ask, rule, reason):
    server.script(rule)
    (sample,) = ask()
    assert sample.reason == reason
    assert (sample.reply.model_dump() if sample.reply else None) == (None if reason else GOOD)
    is_unfit = reason is not None and reason.startswith(("the reply", "the model", "the API"))
    assert server.stats()["requests"] == (2 if is_unfit else 1)


def test_tokens_of_thoughts_and_of_unusable_answers_are_paid(server, ask):
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 7, "thoughtsTokenCount": 30}
    server.script({"usage": usage, "finish": "MAX_TOKENS"})
    (sample,) = ask()
    assert (sample.reply, sample.tokens_in, sample.tokens_out) == (None, 100, 37)


def test_an_answer_without_usage(server, ask):
    server.script({"usage": None})
    (sample,) = ask()
    assert (sample.tokens_in, sample.tokens_out) == (None, None)
    assert sample.reply


def test_equal_schemas_of_different_models_are_not_mixed_up(open_worker, question):
    class Strict(BaseModel):
        quote: str

        def shout(self):
            return self.quote.upper()

    class Plain(BaseModel):
        quote: str

    Plain.__name__ = Plain.__qualname__ = "Strict"
    worker = open_worker()

    async def both():
        asked = [worker.ask(question("the same", model), range(1)) for model in (Strict, Plain)]
        return await asyncio.gather(*asked)

    ((strict,), (plain,)) = worker.submit(both()).result()
    assert (type(strict.reply), type(plain.reply)) == (Strict, Plain)


BROKEN = ["", "{", "null", "3", '{"candidates": 3}', '{"candidates": [3]}', '{"usageMetadata": "x"}']


@pytest.mark.parametrize("body", BROKEN)
def test_a_response_that_is_none(body):
    (reply,) = read_answer(body, "m", 1)
    assert (reply.text, reply.fault.kind, reply.model) == (None, "json", "m")


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_shared_tokens_add_up(count):
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 7}
    replies = read_answer(json.dumps({"usageMetadata": usage}), "m", count)
    assert len(replies) == count
    assert sum(reply.tokens_in for reply in replies) == 100
    assert sum(reply.tokens_out for reply in replies) == 7
