import json
import subprocess
import sys
import urllib.request
from itertools import count
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict

from schemas.judge_config import JudgeConfig
from transforms.judging.ask import JudgeModelOptions, Prompt, Question
from transforms.judging.setting_up import JudgeSettings
from transforms.judging.worker import JudgeWorker

SERVER = Path(__file__).parents[2] / "gemini_server.py"
KEY = "key-of-the-tests"


class Verdict(BaseModel):
    model_config = ConfigDict(extra="forbid")

    quote: str
    verdict: Literal["valid", "invalid"]


class Server:
    """The server that stands in for Gemini."""

    key = KEY

    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}"

    def _get(self, path):
        with urllib.request.urlopen(self.url + path) as response:
            return json.load(response)

    def script(self, *rules):
        data = json.dumps(rules).encode()
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/script", data, method="POST")).close()

    def stats(self):
        return self._get("/stats?times=1")

    def last(self):
        return self._get("/last")


@pytest.fixture(scope="session")
def running_server():
    command = [sys.executable, str(SERVER), "--key", KEY]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield Server(int(process.stdout.readline()))
        process.terminate()


@pytest.fixture
def server(running_server):
    running_server.script()
    return running_server


@pytest.fixture
def settings(server):
    """Makes settings: of the server, unless they say otherwise, with short waits."""

    def make(concurrency=64, run_id="", **config):
        config = {"backend": "gemini", "base_url": server.url, "retry_delay_s": 0.01, **config}
        return JudgeSettings(JudgeConfig(**config), concurrency, run_id)

    return make


@pytest.fixture(scope="session")
def workers():
    opened = {}
    yield opened
    for worker in opened.values():
        worker.close()


@pytest.fixture
def open_worker(settings, workers):
    """Opens judges by the same arguments. Tests with equal arguments share one: a client takes its time."""

    def make(key=KEY, **arguments):
        wanted = settings(**arguments)
        name = (key, wanted.key())
        if name not in workers:
            workers[name] = JudgeWorker(wanted, {"GOOGLE_API_KEY": key})
        workers[name].counts.take()
        return workers[name]

    return make


@pytest.fixture
def close_worker(workers):
    """Closes a judge, and writes its cache."""

    def close(worker):
        (name,) = [name for name, each in workers.items() if each is worker]
        workers.pop(name).close()

    return close


@pytest.fixture
def question():
    """Makes questions: each about evidence of its own, unless it is given."""
    numbers = count()

    def make(evidence=None, reply_model=Verdict, instructions="Judge.", version="test/1", **options):
        evidence = f"evidence {next(numbers)}" if evidence is None else evidence
        prompt = Prompt(version, instructions, evidence)
        return Question(prompt, reply_model, JudgeModelOptions(**options))

    return make


@pytest.fixture
def ask(open_worker, close_worker, question):
    """Asks one question of a judge, and closes it if it has a cache; returns the samples."""

    def make(samples=1, asked=None, **arguments):
        worker = open_worker(**arguments)
        answers = worker.submit(worker.ask(asked or question(), range(samples))).result()
        if "cache" in arguments:
            close_worker(worker)
        return answers

    return make
