"""The limits of a judge hold over all workers of a run, and replies are shared, in a file or a database."""

import asyncio
import json
import logging
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.asking import another_process, ask_about
from turnwise.schemas.config import ConfigError
from turnwise.schemas.judge_config import JudgeConfig
from turnwise.transforms.judging.cache import CachedReply, ReplyCache
from turnwise.transforms.judging.limits.ledger import LARGEST_LEASE, SHARE
from turnwise.transforms.judging.places.base import Account, PlaceError
from turnwise.transforms.judging.places.opening import open_place
from turnwise.transforms.judging.setup import JudgeSettings, check_judge
from turnwise.transforms.judging.worker import JudgeWorker

MODEL = "gemini-2.5-flash"
PRICES = {MODEL: {"input_per_million": 0.0, "output_per_million": 1_000_000.0}}
SECRET = "not-checked"


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for replies and limits."""
    if request.param == "sqlite":
        return str(tmp_path / "replies.sqlite")
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def shared(server: Any) -> Callable[..., JudgeSettings]:
    """Makes settings of a run whose workers share limits."""

    def make(place: str, concurrency: int = 8, **judge: Any) -> JudgeSettings:
        stated = {"backend": "gemini", "base_url": server.url, "retry_delay_s": 0.01, "cache": place, **judge}
        return JudgeSettings(JudgeConfig(**stated), concurrency, "run 1", shares_limits=True)

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


def spent(place: str, run: str = "run 1") -> Account:
    found: list[Account] = []
    opened = open_place(place)
    opened.change(run, lambda account, now: (found.append(account), account)[1])
    opened.close()
    return found[0]


def wait_for_requests(server: Any, number: int, process: Any) -> None:
    deadline = time.monotonic() + 120
    while server.stats()["requests"] < number:
        assert process.exitcode is None and time.monotonic() < deadline
        time.sleep(0.05)


def test_two_processes_share_a_limit_and_replies(
    server: Any, shared: Any, opened: Any, place: str, tmp_path: Path
) -> None:
    server.script({"delay_ms": 500})
    settings, told = shared(place, 2, max_calls=20), tmp_path / "told.json"
    worker = opened(settings)
    own = ask_about(worker, range(1))
    with another_process(settings, server.key, range(100, 140), told) as other:
        wait_for_requests(server, 2, other)
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


def test_a_killed_worker_loses_its_lease_only(
    server: Any, shared: Any, opened: Any, place: str, tmp_path: Path
) -> None:
    limit = 200
    settings = shared(place, max_calls=limit)
    server.script({"delay_ms": 30})
    with another_process(settings, server.key, range(1000, 2000), tmp_path / "told.json") as killed:
        wait_for_requests(server, 20, killed)
        assert killed.pid is not None
        killed.kill()
        killed.join()
        assert killed.exitcode == -signal.SIGKILL
    server_had = server.stats()["requests"]
    server.script()
    own = sum(sample.reply is not None for sample in ask_about(opened(settings), range(400)))
    lease = min(LARGEST_LEASE, limit // SHARE)
    assert limit - lease <= server_had + own <= limit
    assert spent(place).calls == limit


def test_what_is_left_of_a_lease_is_given_back(server: Any, shared: Any, opened: Any, place: str) -> None:
    settings = shared(place, max_calls=800, max_tokens=1_000_000, max_cost=1e9, prices=PRICES)
    server.script({"usage": {"promptTokenCount": 90, "candidatesTokenCount": 10}})
    ask_about(opened(settings), range(3))
    account = spent(place)
    assert (account.calls, account.tokens) == (3, 300)
    assert account.cost == pytest.approx(30)


@pytest.mark.parametrize(
    ("limit", "tokens_in", "tokens_out", "calls"),
    [({"max_tokens": 2_000}, 90, 10, 20), ({"max_cost": 1_000, "prices": PRICES}, 0, 100, 10)],
    ids=["tokens", "money"],
)
def test_tokens_and_money_are_shared(
    server: Any, shared: Any, opened: Any, place: str, limit: Any, tokens_in: int, tokens_out: int, calls: int
) -> None:
    server.script({"usage": {"promptTokenCount": tokens_in, "candidatesTokenCount": tokens_out}})
    settings = shared(place, 1, **limit)
    first = ask_about(opened(settings), range(4))
    second = ask_about(opened(settings), range(4, 40))
    assert all(sample.reply for sample in first)
    assert sum(sample.reply is not None for sample in first + second) == calls == server.stats()["requests"]
    assert {sample.reason for sample in second if not sample.reply} == {"budget"}


def test_a_rate_is_shared(server: Any, shared: Any, opened: Any, place: str, tmp_path: Path) -> None:
    settings = shared(place, requests_per_minute=300)
    worker, start = opened(settings), time.monotonic()
    ask_about(worker, range(1))
    with another_process(settings, server.key, range(100, 110), tmp_path / "told.json") as other:
        wait_for_requests(server, 2, other)
        ask_about(worker, range(1, 11))
        other.join(120)
    times = server.stats()["times"]
    assert len(times) == 21
    assert times[-1] - start >= 0.95 * 20 * 60 / 300


def all_ask(pool: ThreadPoolExecutor, workers: list[JudgeWorker], asked: range) -> list[Any]:
    """Asks the same questions of every worker at once."""
    return list(chain.from_iterable(pool.map(lambda worker: ask_about(worker, asked), workers)))


def test_twenty_workers_with_one_question_make_one_call(
    server: Any, shared: Any, opened: Any, place: str, tmp_path: Path
) -> None:
    server.script({"delay_ms": 1_000})
    settings, told = shared(place, max_calls=100), [tmp_path / "1.json", tmp_path / "2.json"]
    workers = [opened(settings) for _ in range(18)]
    with (
        another_process(settings, server.key, range(3), told[0]) as one,
        another_process(settings, server.key, range(3), told[1]) as two,
        ThreadPoolExecutor(len(workers)) as pool,
    ):
        wait_for_requests(server, 1, one)
        own = all_ask(pool, workers, range(3))
        one.join(120)
        two.join(120)
    others = [json.loads(each.read_text()) for each in told]
    assert all(sample.reply for sample in own) and [other["usable"] for other in others] == [3, 3]
    assert sum(other["cached"] for other in others) + sum(s.is_cached for s in own) == 19 * 3
    assert server.stats()["requests"] == 3 == spent(place).calls


def test_questions_of_a_killed_worker_are_asked_by_another(
    server: Any, shared: Any, opened: Any, tmp_path: Path
) -> None:
    settings = shared(str(tmp_path / "replies.sqlite"))
    server.script({"delay_ms": 60_000})
    with another_process(settings, server.key, range(4), tmp_path / "told.json") as killed:
        wait_for_requests(server, 4, killed)
    server.script()
    workers = [opened(settings) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        own = all_ask(pool, workers, range(4))
    assert all(sample.reply for sample in own)
    assert server.stats()["requests"] == 4 == sum(sample.is_cached for sample in own)


def test_a_question_that_one_worker_could_not_ask_is_asked_by_the_next(
    server: Any, shared: Any, opened: Any, place: str
) -> None:
    server.script({"status": 400, "message": "not now", "times": 1, "delay_ms": 1_000})
    workers = [opened(shared(place)) for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        own = all_ask(pool, workers, range(1))
    assert sorted((bool(sample.reply), sample.is_cached) for sample in own) == [
        (False, False),
        (True, False),
        (True, True),
    ]
    assert server.stats()["requests"] == 2


def test_claims_are_renewed_until_they_are_released(place: str) -> None:
    async def use() -> list[bool]:
        first, second = ReplyCache(open_place(place), claim_s=1.5), ReplyCache(open_place(place), claim_s=1.5)
        own = [(await cache.claim(b"q")).is_own for cache in (first, first, second)]
        await asyncio.sleep(2.5)
        own.append((await second.claim(b"q")).is_own)
        first.put(b"q", 0, CachedReply("text", "m", 1, 2))
        first.release(b"q")
        await first.get(b"q")
        found = await second.claim(b"q")
        assert found.replies == {0: CachedReply("text", "m", 1, 2)}
        first.close()
        second.close()
        return [*own, found.is_own]

    assert asyncio.run(use()) == [True, False, False, False, True]


def test_claims_of_others_end_with_their_time(place: str) -> None:
    with closing(open_place(place)) as opened:
        assert opened.claim([b"a", b"b"], "one", 60) == {b"a", b"b"}
        assert opened.claim([b"a", b"c"], "two", 60) == {b"c"}
        opened.release([b"a", b"c"], "one")
        assert opened.claim([b"b", b"a", b"c"], "three", 0) == {b"a"}
        assert opened.claim([b"a"], "four", 60) == {b"a"}


def closed_to_all(url: str, is_closed: bool) -> None:
    import psycopg

    name = urlsplit(url).path[1:]
    with psycopg.connect(url.replace(f"/{name}?", "/postgres?"), autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS {not is_closed}")  # type: ignore[arg-type]
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
        )


def test_a_database_that_is_down_lets_nobody_ask(
    server: Any, shared: Any, opened: Any, postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    worker = opened(shared(postgres_url, timeout_s=1, max_calls=50))
    assert all(sample.reply for sample in ask_about(worker, range(4)))
    closed_to_all(postgres_url, True)
    try:
        lost = ask_about(worker, range(2, 20)) + ask_about(worker, range(30))
    finally:
        closed_to_all(postgres_url, False)
    assert {sample.reply for sample in lost} == {None}
    assert server.stats()["requests"] == 4
    reasons = {sample.reason for sample in lost}
    assert all(reason and reason.startswith("judge.cache: postgresql://tester:***@/") for reason in reasons)
    (usage,) = worker.counts.take().values()
    assert dict(usage.unusable) == {"connection": 48}
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(said) == 1 and "\n" not in said[0] and SECRET not in "".join(said + list(map(str, reasons)))
    deadline = time.monotonic() + 60
    while not all(sample.reply for sample in ask_about(worker, range(5))):
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_a_broken_connection_is_made_again(server: Any, shared: Any, opened: Any, postgres_url: str) -> None:
    worker = opened(shared(postgres_url, max_calls=50))
    ask_about(worker, range(4))
    closed_to_all(postgres_url, False)
    samples = ask_about(worker, range(8))
    assert [sample.is_cached for sample in samples] == [True] * 4 + [False] * 4


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


def test_replies_are_kept_where_the_connection_breaks_at_the_commit(postgres_url: str) -> None:
    row = (b"q", 0, "text", "m", 1, 2)
    with closing(open_place(postgres_url)) as place:
        breaks_at_its_first_commit(postgres_url, "judge_replies")
        place.write([row])
        assert list(place.read([b"q"])) == [row]


def test_an_account_is_not_changed_twice(postgres_url: str) -> None:
    changed = []

    def add(account: Account, now: float) -> Account:
        changed.append(account)
        return account._replace(calls=account.calls + 1)

    with closing(open_place(postgres_url)) as place:
        place.change("run", add)
        breaks_at_its_first_commit(postgres_url, "judge_accounts")
        with pytest.raises(PlaceError):
            place.change("run", add)
    assert len(changed) == 2


@pytest.mark.parametrize(
    "url", ["postgresql://me:geheim@127.0.0.1:1/d", "postgres://me@127.0.0.1:1/d?password=geheim"]
)
def test_passwords_are_not_told(server: Any, shared: Any, url: str) -> None:
    pytest.importorskip("psycopg")
    settings = shared(url)
    assert "geheim" not in repr(settings) + repr(settings.config)
    with pytest.raises(ConfigError) as caught:
        check_judge(settings, {"GOOGLE_API_KEY": server.key})
    assert "geheim" not in str(caught.value) and "\n" not in str(caught.value)
    assert str(caught.value).startswith("judge.cache: postgres")


def test_odd_replies_are_kept(postgres_url: str) -> None:
    place = open_place(postgres_url)
    row = (b"\x00q", 3, "nul \x00, half \ud800, 문의", "m", 1, 2)
    place.write([row])
    place.write([row])
    assert list(place.read([b"\x00q", b"other"])) == [row]
    place.close()


def test_a_database_that_does_not_answer_at_the_start_of_a_worker() -> None:
    """The run has checked it before; it may be starting again."""
    url = "postgresql://127.0.0.1:1/judge"
    with pytest.raises(ConfigError, match=r"^judge\.cache: postgresql://127\.0\.0\.1:1/judge: "):
        open_place(url, patience_s=0.0)
    with closing(open_place(url, patience_s=0.3)) as place, pytest.raises(PlaceError):
        place.read([b"q"])


def test_a_price_is_needed_where_money_is_limited(server: Any, shared: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"judge\.max_cost: there is no price of the model gemini-2"):
        check_judge(shared(str(tmp_path / "r.sqlite"), max_cost=5), {"GOOGLE_API_KEY": server.key})
