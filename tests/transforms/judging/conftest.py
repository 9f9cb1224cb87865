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


@pytest.fixture
def open_worker(settings):
    """Opens judges by the same arguments; closes them after the test."""
    workers = []

    def make(environ=None, **arguments):
        worker = JudgeWorker(settings(**arguments), environ or {"GOOGLE_API_KEY": KEY})
        workers.append(worker)
        return worker

    yield make
    for worker in workers:
        worker.close()


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
def ask(open_worker, question):
    """Asks one question of a new judge; returns its samples."""

    def make(samples=1, asked=None, **arguments):
        worker = open_worker(**arguments)
        return worker.submit(worker.ask(asked or question(), range(samples))).result()

    return make
