import sqlite3
from pathlib import Path

import pytest
from pydantic import BaseModel

from tests.asking import another_process, ask_about
from tests.served import until
from tests.tables import lines_beside
from tests.transforms.judging.conftest import ask_all
from turnwise.schemas.config import ConfigError, JudgeConfig
from turnwise.transforms.judging.ask import JudgeModelOptions, Prompt, Question
from turnwise.transforms.judging.judges import Requests, find_judge
from turnwise.transforms.judging.setup import check_judge, open_place


@pytest.fixture
def cache(tmp_path):
    return str(tmp_path / "somewhere" / "replies.sqlite")


def kept(path):
    with sqlite3.connect(path) as connection:
        return connection.execute("SELECT count(*) FROM replies").fetchone()[0]


def test_a_second_judge_makes_no_call(server, ask, question, cache):
    asked = question("the same")
    first = ask(samples=5, asked=asked, cache=cache)
    server.script({"text": "nobody should see this"})
    second = ask(samples=5, asked=asked, cache=cache)
    assert server.stats()["requests"] == 0
    assert [sample.reply for sample in second] == [sample.reply for sample in first]
    assert {(s.is_cached, s.tokens_in, s.tokens_out, s.model) for s in second} == {
        (True, 0, 0, "gemini-2.5-flash-001")
    }


@pytest.mark.parametrize(
    "rule", [{"text": "no JSON"}, {"status": 500}, {"finish": "MAX_TOKENS"}, {"text": "{}"}]
)
def test_what_is_unusable_is_asked_anew(server, ask, question, cache, rule):
    asked = question("the same")
    server.script(rule)
    (sample,) = ask(asked=asked, cache=cache, max_attempts=1)
    assert sample.reply is None
    assert kept(cache) == 0
    server.script()
    (sample,) = ask(asked=asked, cache=cache)
    assert sample.reply
    assert not sample.is_cached


@pytest.mark.parametrize("damage", ["text = x'ff00'", "tokens_in = 'abc'", "text = '{}'"])
def test_a_damaged_row_is_asked_anew(server, ask, question, cache, damage):
    asked = question("the same")
    ask(asked=asked, cache=cache)
    with sqlite3.connect(cache) as connection:
        connection.execute(f"UPDATE replies SET {damage}")
    (sample,) = ask(asked=asked, cache=cache)
    assert (sample.reply is not None, sample.is_cached, server.stats()["requests"]) == (True, False, 2)
    (sample,) = ask(asked=asked, cache=cache)
    assert (sample.is_cached, server.stats()["requests"]) == (True, 2)


class Reply(BaseModel):
    verdict: str


class OtherReply(BaseModel):
    verdict: bool


def key(change):
    prompt = {"version": "p/1", "instructions": "Judge.", "evidence": "It rains.", **change.get("prompt", {})}
    kind = OtherReply if "reply" in change else Reply
    asked = Question(Prompt(**prompt), kind, JudgeModelOptions(**change.get("options", {})))
    config = JudgeConfig(backend="gemini", **change.get("config", {}))
    return Requests(config, {}, find_judge(config)).make(asked).key


def test_everything_that_decides_a_reply_is_in_its_key_and_nothing_else():
    """Changes by the key that they give: those of a line give the same, others another."""
    lines = lines_beside(__file__, "keys.jsonl").values()
    keys = [[key(change) for change in line["changes"]] for line in lines]
    assert [len({*own}) for own in keys] == [1] * len(keys)
    assert len({own[0] for own in keys}) == len(keys)


def test_a_killed_run_goes_on_where_it_stopped(server, settings, open_worker, cache, tmp_path):
    server.script({"delay_ms": 20})
    own = settings(cache=cache, concurrency=4)
    with another_process(own, server.key, range(5_000), tmp_path / "told.json") as killed:
        until(lambda: server.stats()["statuses"].get("200", 0) >= 60, lambda: killed.exitcode is None)
    answered = server.stats()["statuses"]["200"]
    assert answered - 20 <= kept(cache) <= answered
    server.script()
    samples = ask_about(open_worker(cache=cache), range(40))
    assert all(sample.reply for sample in samples)
    assert server.stats()["requests"] == sum(not sample.is_cached for sample in samples) <= 20


def garbage(path):
    path.write_bytes(b"this is no database " * 500)


def newer(path):
    open_place(str(path)).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")


UNUSABLE = [
    (garbage, "file is not a database"),
    (Path.mkdir, "unable to open database file"),
    (newer, "is no cache of this version of turnwise"),
]


@pytest.mark.parametrize(("make", "reason"), UNUSABLE)
def test_files_that_cannot_be_used(server, settings, tmp_path, make, reason):
    path = tmp_path / "replies.sqlite"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(ConfigError) as caught:
        check_judge(settings(cache=str(path)), {"GOOGLE_API_KEY": server.key})
    assert str(caught.value) == f"judge.cache: {path}: {reason}"
    assert server.stats()["checks"] == 0
    assert before == (path.read_bytes() if path.is_file() else None), (
        "another program's file is left as it was"
    )


def test_a_file_that_breaks_later_costs_calls_only(server, open_worker, question, cache, caplog):
    worker = open_worker(cache=cache)
    asked = question("the same")
    ask_all(worker, [asked])
    with sqlite3.connect(cache) as connection:
        connection.execute("DROP TABLE replies")
    for _ in range(3):
        assert ask_all(worker, [asked])[0][0].reply
    assert server.stats()["requests"] == 4
    (record,) = [record for record in caplog.records if record.name.startswith("turnwise.")]
    assert "no such table: replies; replies may be asked for anew" in record.getMessage()
