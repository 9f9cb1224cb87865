import asyncio
import re
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import stated
from tests.transforms.judging.conftest import ask_all, used
from turnwise.schemas.case import EvalCase
from turnwise.schemas.config import ConfigError
from turnwise.schemas.conversation import Conversation, ExpectedTurn, Record, Turn
from turnwise.transforms.criteria.responses import FinalResponseMatch
from turnwise.transforms.judging.ask import JudgeModelOptions
from turnwise.transforms.judging.backends.base import AuthenticationError
from turnwise.transforms.judging.backends.calling import Attempts
from turnwise.transforms.judging.setup import check_judge
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.scoring.evaluate import ScoredConversation, judge_conversation

EVERY_WIRE = ["gemini", "chat", "messages"]
on_every_wire = pytest.mark.parametrize("wire", EVERY_WIRE, indirect=True)
JSON = {"headers": {"Content-Type": "application/json"}}
QUOTA = {"message": "quota exceeded", "name": "RESOURCE_EXHAUSTED"}


LATE = format_datetime(datetime.now(UTC) + timedelta(days=10))
LATER = "HTTP 429, to be tried again after"
FAULTS = [
    ({"status": 400, "message": "no\nfield", "name": "BAD"}, "http", 1, "HTTP 400 BAD no field"),
    ({"status": 404, "message": "no such model"}, "http", 1, "HTTP 404 HTTP_404 no such model"),
    ({"status": 429, **QUOTA}, "http", 3, "HTTP 429 RESOURCE_EXHAUSTED quota exceeded"),
    ({"status": 502, "body": "<html>bad</html>"}, "http", 3, "HTTP 502 Bad Gateway <html>bad</html>"),
    ({"cut_body": 40}, "connection", 3, "no connection: "),
    ({"delay_ms": 6000}, "timeout", 1, "no answer within 1 s"),
    ({"status": 429, "headers": {"Retry-After": "3600"}}, "http", 1, f"{LATER} 3600 s only"),
    ({"status": 503, "headers": {"Retry-After": LATE}}, "http", 1, "HTTP 503, to be tried again after 86"),
    ({"finish": "SAFETY"}, "blocked", 1, "the answer was withheld: "),
    ({"finish": "MAX_TOKENS"}, "max_tokens", 1, "the answer was cut off"),
    ({"status": 425, "message": "too early"}, "http", 3, "HTTP 425 HTTP_425 too early"),
    ({"status": 501, "message": "none such"}, "http", 1, "HTTP 501 HTTP_501 none such"),
    ({"status": 503, "message": "x" * 500}, "http", 3, f"HTTP 503 HTTP_503 {'x' * 181}…"),
]
FLAGGED = {"status": 403, "message": "Your input was flagged: violence"}
FAILED = {"status": "failed", "error": {"code": "server_error", "message": "secret"}}
OF_ONE_WIRE = [
    ("gemini", {"block": "SAFETY"}, "blocked", 1, "the question was blocked: SAFETY"),
    ("gemini", {"status": 503, "body": "{", **JSON}, "other", 3, "JSONDecodeError: "),
    ("chat", {"status": 503, "body": "{", **JSON}, "http", 3, "HTTP 503 Service Unavailable {"),
    ("chat", {"status": 400, "code": "content_filter"}, "blocked", 1, "the question was blocked: content_f"),
    ("chat", {"status": 429, "code": "insufficient_quota"}, "http", 1, "HTTP 429 insufficient_quota"),
    ("chat", {"refusal": "I won't."}, "blocked", 1, "the answer was withheld: refusal"),
    ("responses", {"refusal": "I won't."}, "blocked", 1, "the answer was withheld: refusal"),
    ("responses", {"response": FAILED}, "other", 1, "the API failed: server_error"),
    ("chat", {"response": {"error": {"code": 502, "message": "secret"}}}, "other", 1, "the API failed: 502"),
    ("chat", {"finish": "abort"}, "other", 1, "the API failed: abort"),
    ("chat", FLAGGED, "blocked", 1, "the question was blocked: HTTP_403 Your input was flagged"),
    ("chat", {"status": 429, "headers": {"Retry-After-Ms": "70500"}}, "http", 1, f"{LATER} 70.5 s only"),
    ("messages", {"finish": "model_context_window_exceeded"}, "max_tokens", 1, "the answer was cut off"),
]


@pytest.mark.parametrize(
    ("wire", "rule", "kind", "requests", "reason"),
    [*((wire, *fault) for wire in EVERY_WIRE for fault in FAULTS), *OF_ONE_WIRE],
    indirect=["wire"],
)
def test_faults(server, open_worker, question, rule, kind, requests, reason):
    server.script(rule)
    worker = open_worker(max_attempts=3, timeout_s=1 if "delay_ms" in rule else 20)
    ((sample,),) = ask_all(worker, [question()])
    assert sample.reply is None
    assert sample.reason.startswith(reason)
    assert len(sample.reason) <= 200
    assert "\n" not in sample.reason
    usage = used(worker)
    assert (usage.calls, usage.retries, usage.samples) == (1, requests - 1, 1)
    assert dict(usage.unusable) == {kind: 1}
    assert server.stats()["requests"] == requests


def test_an_outage_is_waited_out(server, open_worker, question):
    """More failures in a row than any fixed number of attempts: every answer comes all the same."""
    server.script({"status": 503, "times": 60}, {"cut_body": 40, "times": 30})
    worker = open_worker(concurrency=8, retry_delay_s=0.001)
    samples = ask_all(worker, [question() for _ in range(10)])
    assert all(sample.reply for (sample,) in samples)
    usage = used(worker)
    assert (usage.calls, usage.retries, dict(usage.unusable)) == (10, 90, {})


UNFIT_REPLIES = [
    ({"candidates": 0}, "empty", "the model gave no answer"),
    ({"text": "  "}, "empty", "the model gave no answer"),
    ({"text": "{"}, "json", "the reply is broken JSON"),
    ({"response": ["no object"]}, "json", "the API's response is broken"),
    ({"text": "{}"}, "schema", "the reply is outside the schema: quote: Field required"),
]


@pytest.mark.parametrize(("rule", "kind", "reason"), UNFIT_REPLIES)
@on_every_wire
def test_an_unfit_reply_is_asked_for_once_more(server, open_worker, question, rule, kind, reason):
    cost = {"usage": {"promptTokenCount": 100, "candidatesTokenCount": 7}}
    server.script({**cost, **rule, "times": 1}, cost)
    worker = open_worker()
    ((sample,),) = ask_all(worker, [question()])
    assert (sample.reply is not None, sample.reason) == (True, None)
    is_counted = "response" not in rule  # both are paid for; of a broken response nothing is known
    assert (sample.tokens_in, sample.tokens_out) == ((200, 14) if is_counted else (None, None))
    usage = used(worker)
    assert (usage.calls, usage.asked_again, usage.samples, dict(usage.unusable)) == (2, 1, 1, {})

    server.script(rule)
    ((sample,),) = ask_all(worker, [question()])
    assert (sample.reply, sample.reason) == (None, reason)
    usage = used(worker)
    assert (usage.calls, usage.asked_again, usage.samples, dict(usage.unusable)) == (2, 1, 1, {kind: 1})
    assert server.stats()["requests"] == 2


@pytest.mark.parametrize(("adk_compat", "wanted"), [(True, (1, 0)), (False, (2, 1))])
def test_with_adk_compat_an_unfit_reply_abstains(server, open_worker, adk_compat, wanted):
    server.script({"text": "no JSON"})
    worker = open_worker()
    case = EvalCase(eval_id="e", turns=[ExpectedTurn(user="q", response="Bonn")])
    conversation = Conversation(conversation_id="c", turns=[Turn(user="q", agent="In Bonn.")])
    scored = ScoredConversation(Sample(conversation, case, Record("f", 1, b"{}")), [], [])
    options = JudgeModelOptions(num_samples=1)
    criterion = FinalResponseMatch(judge_model_options=options, adk_compat=adk_compat)
    worker.submit(judge_conversation(scored, [criterion], worker.ask)).result()
    assert scored.scores[0].overall.value is None
    usage = used(worker)
    assert (usage.calls, usage.asked_again) == wanted


def test_asking_once_more_keeps_to_the_budget(server, open_worker, question):
    server.script({"text": "no JSON"})
    worker = open_worker(max_calls=1)
    ((sample,),) = ask_all(worker, [question()])
    assert sample.reason == "the reply is broken JSON"
    assert (used(worker).asked_again, server.stats()["requests"]) == (0, 1)


@given(
    delay_s=st.floats(0.001, 30),
    count=st.integers(1, 10_000),
    asked_s=st.one_of(st.just(0.0), st.floats(0.001, 1e6)),
)
def test_pauses(delay_s, count, asked_s):
    attempts = Attempts(None, delay_s, count=count)
    pause = attempts.pause(asked_s)
    backoff = min(delay_s * 2.0 ** min(count - 1, 64), max(10.0, delay_s))
    assert pause >= max(asked_s, backoff / 2)
    assert pause <= max(asked_s + delay_s, backoff)


@stated("wait", "wait, seconds")
def test_the_wait_a_server_asks_for(server, ask, wait, seconds):
    server.script({"status": 429, "times": 1, **wait})
    (sample,) = ask()
    assert sample.reply
    first, second = server.stats()["times"]
    assert second - first >= seconds


def test_the_time_out_holds_for_all_attempts_together(server, ask):
    server.script({"status": 503, "delay_ms": 150})
    (sample,) = ask(timeout_s=4)
    assert re.fullmatch(
        r"no answer within 4 s, \d+ attempts; the last error: HTTP 503 HTTP_503 scripted", sample.reason
    )
    assert server.stats()["requests"] < 30


@pytest.mark.parametrize(("delay_ms", "reason"), [(60_000, "no answer within 2 s"), (1_500, None)])
def test_a_request_in_flight_is_not_sent_again(server, open_worker, question, delay_ms, reason):
    server.script({"delay_ms": delay_ms, "times": 1})
    worker = open_worker(timeout_s=2)
    ((sample,),) = ask_all(worker, [question()])
    assert (sample.reply is None, sample.reason) == (reason is not None, reason)
    assert (used(worker).retries, server.stats()["requests"]) == (0, 1)


@stated("settings", "wire, value, reason", indirect=["wire"])
def test_unfit_settings(server, settings, ask, question, wire, value, reason):
    """They are refused before a run, and named by the samples if the check was not made."""
    with pytest.raises(ConfigError) as caught:
        check_judge(settings(), {wire.variable: server.key}, [JudgeModelOptions(judge_model_config=value)])
    assert str(caught.value).removeprefix("judge: ").startswith(reason)
    (sample,) = ask(asked=question(judge_model_config=value))
    assert sample.reply is None and sample.reason.startswith(reason)
    assert (server.stats()["requests"], server.stats()["checks"]) == (0, 0)


REFUSED = [
    {"status": 401, "message": "who?"},
    {"status": 403, "message": "not you", "name": "PERMISSION_DENIED"},
]


@pytest.mark.parametrize("rule", REFUSED)
@on_every_wire
def test_refused_credentials_stop_everything(server, open_worker, question, rule):
    server.script({**rule, "delay_ms": 100})
    worker = open_worker(concurrency=4, run_id=f"refused with {rule['status']}")

    async def all_of_them():
        asked = (worker.ask(question(), range(5)) for _ in range(50))
        return await asyncio.gather(*asked, return_exceptions=True)

    results = worker.submit(all_of_them()).result()
    assert {type(each) for each in results} == {AuthenticationError}
    assert {str(each) for each in results} == {str(results[0])}
    assert str(results[0]).startswith(f"judge: the credentials are refused: HTTP {rule['status']} ")
    with pytest.raises(AuthenticationError):
        worker.submit(worker.ask(question(), range(1))).result()
    assert server.stats()["requests"] <= 4


@on_every_wire
def test_a_wrong_key(server, settings, wire, open_worker, question):
    with pytest.raises(
        ConfigError, match=r"refused: HTTP 40[01] INVALID_ARGUMENT API key not valid: \[key\]"
    ) as caught:
        check_judge(settings(), {wire.variable: "a-wrong-key"})
    assert "a-wrong-key" not in str(caught.value)
    worker = open_worker(key="a-wrong-key")
    with pytest.raises(AuthenticationError) as refused:
        worker.submit(worker.ask(question(), range(1))).result()
    assert "a-wrong-key" not in repr(refused.value)
    assert server.stats()["requests"] == 1


@on_every_wire
def test_a_check_costs_nothing(server, settings, wire):
    options = [JudgeModelOptions(), JudgeModelOptions(judge_model="another")]
    check_judge(settings(), {wire.variable: server.key}, options * 2)
    stats = server.stats()
    assert (stats["requests"], stats["checks"]) == (0, 2)


@on_every_wire
def test_a_check_of_a_server_that_is_not_there(server, settings, wire):
    with pytest.raises(ConfigError, match=f"^judge: model {wire.model}: no connection: "):
        check_judge(settings(base_url="http://127.0.0.1:9"), {wire.variable: "k"})


@pytest.mark.parametrize("status", [404, 503])
@on_every_wire
def test_a_check_lets_passing_trouble_pass(server, settings, wire, status):
    server.script({"checks": True, "status": status})
    check_judge(settings(), {wire.variable: server.key})
    assert server.stats()["checks"] >= 1
