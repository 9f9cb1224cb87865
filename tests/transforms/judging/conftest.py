import asyncio
from itertools import count
from typing import NamedTuple

import pytest

from tests.asking import Verdict
from turnwise.schemas.config import JudgeConfig
from turnwise.transforms.judging.ask import JudgeModelOptions, Prompt, Question
from turnwise.transforms.judging.setup import JudgeSettings, JudgeWorker


class Wire(NamedTuple):
    """How a judge is reached at the server: the variable holds its key, the path is where it is spoken."""

    backend: str
    model: str
    variable: str
    path: str = ""


WIRES = {
    "gemini": Wire("gemini", "gemini-2.5-flash", "GOOGLE_API_KEY"),
    "chat": Wire("openai", "gpt-x", "OPENAI_API_KEY", "/v1"),
    "responses": Wire("openai", "responses/gpt-x", "OPENAI_API_KEY", "/v1"),
    "messages": Wire("anthropic", "claude-x", "ANTHROPIC_API_KEY"),
}


def used(worker):
    """Returns the usage of the only model that was asked."""
    (usage,) = worker.counts.take().values()
    return usage


def ask_all(worker, questions, samples=1):
    """Asks all questions at once; returns the samples of each."""

    async def all_of_them():
        return await asyncio.gather(*(worker.ask(each, range(samples)) for each in questions))

    return worker.submit(all_of_them()).result()


@pytest.fixture
def wire(request):
    """Returns the wire that a test is for; Gemini's, unless it is parametrised."""
    return WIRES[getattr(request, "param", "gemini")]


@pytest.fixture
def settings(server, wire):
    """Makes settings: of the server, unless they say otherwise, with short waits."""
    base = {"backend": wire.backend, "model": wire.model, "base_url": f"{server.url}{wire.path}"}

    def make(concurrency=64, run_id="", **config):
        return JudgeSettings(JudgeConfig(**{**base, "retry_delay_s": 0.01, **config}), concurrency, run_id)

    return make


@pytest.fixture(scope="session")
def workers():
    opened = {}
    yield opened
    for worker in opened.values():
        worker.close()


@pytest.fixture
def open_worker(settings, workers, server, wire):
    """Opens judges by the same arguments. Tests with equal arguments share one: a client takes its time."""

    def make(key=None, **arguments):
        key = key or server.key
        wanted = settings(**arguments)
        name = (key, wanted.key())
        if name not in workers:
            workers[name] = JudgeWorker(wanted, {wire.variable: key})
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
        (answers,) = ask_all(worker, [asked or question()], samples)
        if "cache" in arguments:
            close_worker(worker)
        return answers

    return make
