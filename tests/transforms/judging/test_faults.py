import asyncio
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import stated
from tests.transforms.judging.conftest import used
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation, ExpectedTurn, Record, Turn
from turnwise.transforms.criteria.responses import FinalResponseMatch
from turnwise.transforms.judging.ask import JudgeModelOptions
from turnwise.transforms.judging.backends.base import AuthenticationError
from turnwise.transforms.judging.backends.calling import pause_s
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.scoring.evaluate import ScoredConversation, judge_conversation

EVERY_WIRE = ["gemini", "chat", "messages"]
on_every_wire = pytest.mark.parametrize("wire", EVERY_WIRE, indirect=True)


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


@given(
    delay_s=st.floats(0.001, 30),
    count=st.integers(1, 10_000),
    asked_s=st.one_of(st.just(0.0), st.floats(0.001, 1e6)),
)
def test_pauses(delay_s, count, asked_s):
    pause = pause_s(count, delay_s, asked_s)
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
def test_a_wrong_key(server, open_worker, question):
    worker = open_worker(key="a-wrong-key")
    with pytest.raises(AuthenticationError) as refused:
        worker.submit(worker.ask(question(), range(1))).result()
    assert "a-wrong-key" not in repr(refused.value)
    assert server.stats()["requests"] == 1
