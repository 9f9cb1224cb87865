"""The judge of a process: its section of the config, credentials, opening and closing."""

import json
import logging
import os
import pickle
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.tables import stated
from turnwise.schemas.config import ConfigError, JudgeConfig
from turnwise.transforms.judging.ask import NO_JUDGE
from turnwise.transforms.judging.backends.gemini import find_access
from turnwise.transforms.judging.setup import close_judges, open_judge
from turnwise.transforms.scoring.config import parse_config


@stated("wrong", "judge, message")
def test_wrong_sections(judge, message):
    with pytest.raises(ConfigError) as caught:
        parse_config(json.dumps({"judge": judge}))
    assert str(caught.value).startswith(f"config: {message}")
    assert "secret" not in str(caught.value).replace("api_key_secret", "").replace("secrets/", "")
    assert "\n" not in str(caught.value)


ROOT = Path(__file__).parents[3]


@pytest.fixture
def environ(server):
    yield {"GOOGLE_API_KEY": server.key}
    close_judges()


@pytest.fixture
def new_threads():
    before = set(threading.enumerate())
    return lambda: [thread.name for thread in set(threading.enumerate()) - before]


def test_a_process_has_one_judge_for_equal_settings(settings, environ, new_threads):
    with ThreadPoolExecutor(8) as pool:
        opened = [*pool.map(lambda _: open_judge(settings(), environ), range(8))]
    assert len({id(worker) for worker in opened}) == 1
    assert new_threads() == ["turnwise-judge"]
    again = pickle.loads(pickle.dumps(settings()))
    assert open_judge(again, environ) is opened[0]


def test_closing_leaves_nothing_behind(server, settings, environ, question, tmp_path, new_threads):
    server.script({"delay_ms": 60_000})
    worker = open_judge(settings(cache=str(tmp_path / "replies.sqlite"), concurrency=3), environ)
    asked = [worker.submit(worker.ask(question(), range(5))) for _ in range(10)]
    while server.stats()["in_flight"] < 3:
        time.sleep(0.02)
    close_judges()
    for future in asked:
        with pytest.raises(CancelledError):
            future.result(timeout=60)
    assert new_threads() == []
    while server.stats()["in_flight"]:
        time.sleep(0.02)
    assert server.stats()["broken_off"] == 3
    coroutine = worker.ask(question(), range(1))
    with pytest.raises(RuntimeError, match="the judge is closed"):
        worker.submit(coroutine)
    close_judges()
    worker.close()


def test_one_that_is_cancelled_does_not_hurt_those_that_wait_with_it(server, settings, environ, question):
    server.script({"delay_ms": 300})
    worker = open_judge(settings(), environ)
    first = worker.submit(worker.ask(question("the same"), range(2)))
    while server.stats()["in_flight"] < 2:
        time.sleep(0.02)
    second = worker.submit(worker.ask(question("the same"), range(2)))
    assert first.cancel()
    assert [sample.is_cached for sample in second.result()] == [True, True]
    assert server.stats()["requests"] == 2


def test_what_is_in_flight_at_the_end_is_kept_and_nothing_else_is_asked(
    server, settings, environ, question, tmp_path
):
    server.script({"delay_ms": 300})
    own = settings(cache=str(tmp_path / "replies.sqlite"), concurrency=4)
    questions = [question() for _ in range(8)]
    worker = open_judge(own, environ)
    asked = [worker.submit(worker.ask(each, range(2))) for each in questions]
    while server.stats()["in_flight"] < 4:
        assert not asked[0].done()
    close_judges()
    assert all(answer.cancelled() for answer in asked)
    assert server.stats()["statuses"] == {"200": 4}
    server.script()
    worker = open_judge(own, environ)
    again = [worker.submit(worker.ask(each, range(2))) for each in questions]
    assert sum(sample.is_cached for answer in again for sample in answer.result()) == 4
    assert server.stats()["requests"] == 12


def test_what_a_call_took_that_is_broken_off_is_unknown(server, settings, environ, question):
    server.script({"delay_ms": 300})
    worker = open_judge(settings(), environ)
    worker.submit(worker.ask(question(), range(1)))
    while server.stats()["in_flight"] < 1:
        time.sleep(0.02)
    close_judges()
    (used,) = worker.counts.take().values()
    assert (used.calls, used.uncounted) == (1, 1)


@pytest.mark.parametrize("backend", ["none", "local"])
def test_judges_that_need_no_model(server, settings, environ, question, new_threads, backend):
    worker = open_judge(settings(backend=backend), {})
    (sample,) = worker.submit(worker.ask(question(), range(1))).result()
    assert sample.reply is None
    assert (sample.reason == NO_JUDGE) == (backend == "none")
    assert (worker.counts.take(), server.stats()["requests"]) == ({}, 0)
    close_judges()
    assert new_threads() == []


SECRET = "AIza-the-secret"


def test_secrets_stay_where_they_are(server, settings, question, caplog):
    caplog.set_level(logging.DEBUG)
    access = find_access(JudgeConfig(), {"GOOGLE_API_KEY": SECRET})
    assert access.api_key == SECRET
    assert SECRET not in repr(access)
    echoed = {"message": f"you said {SECRET}", "status": 400}
    server.script({"checks": True, **echoed}, echoed)
    worker = open_judge(settings(), {"GOOGLE_API_KEY": SECRET})
    with pytest.raises(ConfigError) as caught:
        worker.submit(worker.ask(question(), range(1))).result()
    close_judges()
    shown = [str(caught.value), repr(caught.value), repr(worker), repr(settings()), caplog.text]
    assert [text for text in shown if SECRET in text] == []
    assert SECRET.encode() not in pickle.dumps(settings()) + pickle.dumps(caught.value)


@stated("way", "config, variables, wanted")
def test_the_way_to_gemini(config, variables, wanted):
    access = find_access(JudgeConfig(**config), variables)
    assert [access.vertexai, access.api_key, access.project, access.location, access.base_url] == wanted


def python(code, **variables):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GOOGLE", "GEMINI"))}
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, cwd=ROOT, env={**kept, **variables}, capture_output=True, text=True)
    return run.stdout.strip(), run.stderr


VERTEX_CHECK = """
import os, sys
from turnwise.schemas.config import ConfigError, JudgeConfig
from turnwise.transforms.judging.setup import JudgeSettings, check_judge
try:
    check_judge(JudgeSettings(JudgeConfig(backend="gemini", project="p", location="l")), os.environ)
except ConfigError as error:
    sys.exit(str(error))
"""


def test_vertex_ai_without_credentials(tmp_path):
    out, err = python(VERTEX_CHECK, HOME=str(tmp_path), NO_GCE_CHECK="true")
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("judge: Your default credentials were not found.")
