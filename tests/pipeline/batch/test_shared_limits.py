"""The budget of a judge holds over all workers of a run, and replies are shared, in a file or a database."""

import asyncio
import json
import logging
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from math import inf
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.asking import another_process, ask_about
from tests.served import until
from turnwise.schemas.config import ConfigError, JudgeConfig
from turnwise.transforms.judging.limits import Budget
from turnwise.transforms.judging.setup import JudgeSettings, JudgeWorker, check_judge, open_place
from turnwise.transforms.judging.shared_places import NO_LIMITS, Amounts, PlaceError

MODEL = "gemini-2.5-flash"
PRICES = {MODEL: {"input_per_million": 0.0, "output_per_million": 1_000_000.0}}
SECRET = "not-checked"


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for replies and budgets."""
    if request.param == "sqlite":
        return str(tmp_path / "replies.sqlite")
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def shared(server: Any) -> Callable[..., JudgeSettings]:
    """Makes settings of a run whose workers share a budget."""

    def make(place: str, concurrency: int = 8, **judge: Any) -> JudgeSettings:
        stated = {"backend": "gemini", "base_url": server.url, "retry_delay_s": 0.01, "cache": place, **judge}
        return JudgeSettings(JudgeConfig(**stated), concurrency, "run 1", shares_budget=True)

    return make


@pytest.fixture
def opened(server: Any) -> Iterator[Callable[[JudgeSettings], JudgeWorker]]:
    """Opens judges, and closes them in the end."""
    workers: list[JudgeWorker] = []

    def make(settings: JudgeSettings) -> JudgeWorker:
        workers.append(JudgeWorker(settings, {"GOOGLE_API_KEY": server.key}))
        return workers[-1]

    yield make
    for worker in workers:
        worker.close()


def spent(place: str) -> Amounts:
    """Returns what the run has spent."""
    with closing(open_place(place)) as opened:
        return opened.spent("run 1")


def test_two_processes_share_a_limit_and_replies(server, shared, opened, place, tmp_path):
    server.script({"delay_ms": 500})
    settings, told = shared(place, 2, max_calls=20), tmp_path / "told.json"
    worker = opened(settings)
    own = ask_about(worker, range(1))
    with another_process(settings, server.key, range(100, 140), told) as other:
        until(lambda: server.stats()["requests"] >= 2, lambda: other.exitcode is None)
        own += ask_about(worker, range(1, 40))
        other.join(120)
    usable = sum(sample.reply is not None for sample in own)
    assert usable + json.loads(told.read_text())["usable"] == 20 == server.stats()["requests"]
    assert 1 < usable < 19
    assert {sample.reason for sample in own if sample.reply is None} == {"budget"}
    assert spent(place).calls == 20
    # A bundle that another worker repeats pays for nothing that was answered.
    again = ask_about(worker, range(40))
    assert sum(sample.is_cached for sample in again) == usable
    assert server.stats()["requests"] == 20


def test_a_killed_worker_loses_its_calls_in_flight_only(server, shared, opened, place, tmp_path):
    limit = 200
    settings = shared(place, max_calls=limit)
    server.script({"delay_ms": 30})
    with another_process(settings, server.key, range(1000, 2000), tmp_path / "told.json") as killed:
        until(lambda: server.stats()["requests"] >= 20, lambda: killed.exitcode is None)
        assert killed.pid is not None
        killed.kill()
        killed.join()
        assert killed.exitcode == -signal.SIGKILL
    server_had = server.stats()["requests"]
    server.script()
    own = sum(sample.reply is not None for sample in ask_about(opened(settings), range(400)))
    assert limit - settings.concurrency <= server_had + own <= limit
    assert spent(place).calls == limit


@pytest.mark.parametrize(
    ("limit", "tokens_in", "tokens_out", "calls"),
    [({"max_tokens": 2_000}, 90, 10, 20), ({"max_cost": 1_000, "prices": PRICES}, 0, 100, 10)],
    ids=["tokens", "money"],
)
def test_tokens_and_money_are_shared(server, shared, opened, place, limit, tokens_in, tokens_out, calls):
    server.script({"usage": {"promptTokenCount": tokens_in, "candidatesTokenCount": tokens_out}})
    settings = shared(place, 1, **limit)
    first = ask_about(opened(settings), range(4))
    second = ask_about(opened(settings), range(4, 40))
    assert all(sample.reply for sample in first)
    assert sum(sample.reply is not None for sample in first + second) == calls == server.stats()["requests"]
    assert {sample.reason for sample in second if not sample.reply} == {"budget"}


def test_what_all_workers_spend_at_once_exceeds_no_limit(place):
    def spend(_: int) -> int:
        with closing(open_place(place)) as opened:
            return sum(opened.spend("run 1", Amounts(1, 10, 0.5), Amounts(100, inf, inf)) for _ in range(20))

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(8))) == 100
    assert spent(place) == (100, 1000, 50)


def test_a_budget_of_a_day_counts_conversations(place):
    """Those that come, and those of them that are judged."""
    with closing(open_place(place)) as counters:
        budget = Budget(JudgeConfig(per="day", max_calls=5), reply_place=counters, clock=lambda: 0.0)
        assert asyncio.run(budget.left_out(0.5)) is None
        assert counters.spent("day 1970-01-01 conversations") == (1, 1, 0)


def closed_to_all(url: str, is_closed: bool) -> None:
    import psycopg

    name = urlsplit(url).path[1:]
    with psycopg.connect(url.replace(f"/{name}?", "/postgres?"), autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS {not is_closed}")  # type: ignore[arg-type]
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
        )


def test_a_database_that_is_down_lets_nobody_ask(server, shared, opened, postgres_url, caplog):
    worker = opened(shared(postgres_url, timeout_s=1, max_calls=50))
    assert all(sample.reply for sample in ask_about(worker, range(4)))
    closed_to_all(postgres_url, True)
    try:
        unanswered = ask_about(worker, range(2, 20)) + ask_about(worker, range(30))
    finally:
        closed_to_all(postgres_url, False)
    assert {sample.reply for sample in unanswered} == {None}
    assert server.stats()["requests"] == 4
    reasons = {sample.reason for sample in unanswered}
    assert all(reason and reason.startswith("judge.cache: postgresql://tester:***@/") for reason in reasons)
    (usage,) = worker.counts.take().values()
    assert dict(usage.unusable) == {"connection": 48}
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(said) == 1 and "\n" not in said[0] and SECRET not in "".join(said + list(map(str, reasons)))
    until(lambda: all(sample.reply for sample in ask_about(worker, range(5))))


def breaks_at_its_first_commit(url: str, table: str) -> None:
    """Makes PostgreSQL end the next connection that changes a table, while the change is committed."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE SEQUENCE commits")
        connection.execute(
            "CREATE FUNCTION end_first() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " IF nextval('commits') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;"
            " RETURN NULL; END $$"
        )
        connection.execute(
            f"CREATE CONSTRAINT TRIGGER t AFTER INSERT OR UPDATE ON {table} DEFERRABLE INITIALLY DEFERRED"  # type: ignore[arg-type]
            " FOR EACH ROW EXECUTE FUNCTION end_first()"
        )


def test_nothing_is_spent_twice_where_the_connection_breaks_at_the_commit(postgres_url):
    with closing(open_place(postgres_url)) as place:
        assert place.spend("run 1", Amounts(1), NO_LIMITS)
        breaks_at_its_first_commit(postgres_url, "judge_budgets")
        with pytest.raises(PlaceError):
            place.spend("run 1", Amounts(1), NO_LIMITS)
    assert spent(postgres_url).calls == 1


@pytest.mark.parametrize(
    "url", ["postgresql://me:geheim@127.0.0.1:1/d", "postgres://me@127.0.0.1:1/d?password=geheim"]
)
def test_passwords_are_not_told(server, shared, url):
    pytest.importorskip("psycopg")
    settings = shared(url)
    assert "geheim" not in repr(settings) + repr(settings.config)
    with pytest.raises(ConfigError) as caught:
        check_judge(settings, {"GOOGLE_API_KEY": server.key})
    assert "geheim" not in str(caught.value) and "\n" not in str(caught.value)
    assert str(caught.value).startswith("judge.cache: postgres")
