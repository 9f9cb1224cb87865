"""Sessions of google-adk and of the OpenAI Agents SDK in a PostgreSQL database that a URL names."""

import json
import pickle
from pathlib import Path

import pytest

from tests.pipeline.io.test_containers import EVENTS, SAID, Bomb
from tests.readings import findings, read_file, turns
from turnwise.pipeline.io.files import file_patterns
from turnwise.schemas.config import ConfigError

pytest.importorskip("psycopg")

KEYS = "app_name VARCHAR(128), user_id VARCHAR(128)"
TABLES = (
    f"CREATE TABLE app_states (app_name VARCHAR(128) PRIMARY KEY, state JSONB, update_time TIMESTAMP);"
    f"CREATE TABLE user_states ({KEYS}, state JSONB, update_time TIMESTAMP, PRIMARY KEY (app_name, user_id));"
    f"CREATE TABLE sessions ({KEYS}, id VARCHAR(128), state JSONB, create_time TIMESTAMP, "
    "update_time TIMESTAMP, PRIMARY KEY (app_name, user_id, id));"
)
OF_EVENTS = f"id VARCHAR(128), {KEYS}, session_id VARCHAR(128), invocation_id TEXT, timestamp TIMESTAMP"
NEW = "event_data JSONB"
OLD = (
    "actions BYTEA, author VARCHAR(256), content JSONB, partial BOOLEAN, long_running_tool_ids_json TEXT, "
    "error_code VARCHAR(256)"
)
SESSIONS = [("desk", "ann", "s-2"), ("desk", "ann", "s-10"), ("Äpfel", "bo", "s-2")]


def jsonb(value):
    return json.dumps(value).replace("Infinity", "null")  # PostgreSQL takes none


def new_row(event):
    return [jsonb({**event, "timestamp": 1767261600.25})]


def old_row(event):
    return [pickle.dumps(Bomb()), event["author"], jsonb(event["content"]), False, "null", None]


def fill(url, columns, row):
    """Makes google-adk's tables, with sessions of these events, all of one time, and one without events."""
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute(f"{TABLES} CREATE TABLE events ({OF_EVENTS}, {columns})")
        connection.execute("INSERT INTO app_states VALUES ('desk', '{\"version\": \"7\"}', now())")
        connection.execute("INSERT INTO user_states VALUES ('desk', 'ann', '{\"vip\": true}', now())")
        for number, (app, user, name) in enumerate([*SESSIONS, ("desk", "ann", "empty")]):
            values = (app, user, name, '{"eval_id": "e"}')
            connection.execute("INSERT INTO sessions VALUES (%s, %s, %s, %s, now(), now())", values)
            for i, event in enumerate(EVENTS if number < len(SESSIONS) else ()):
                stamp = "2026-01-01 10:00:00.25"
                given = (f"{9 - i}", app, user, name, "i-1", stamp, *row(event))
                connection.execute(f"INSERT INTO events VALUES ({', '.join(['%s'] * len(given))})", given)


@pytest.mark.parametrize(
    ("columns", "row", "found"), [(NEW, new_row, []), (OLD, old_row, ["PickledActions"])]
)
def test_both_schemas_are_read_as_sessions(postgres_url, columns, row, found):
    fill(postgres_url, columns, row)
    read = read_file(postgres_url)
    by_key = {(c.meta["app_name"], c.conversation_id): c for c in read.conversations}
    assert by_key.keys() == {(app, name) for app, _, name in SESSIONS}
    for conversation in by_key.values():
        assert turns(conversation) == SAID and findings(conversation) == found
        assert conversation.start_time == "2026-01-01T10:00:00.250Z"
    assert by_key["desk", "s-2"].state == {"app:version": "7", "user:vip": True, "eval_id": "e"}
    assert by_key["Äpfel", "s-2"].state == {"eval_id": "e"}
    [failure] = read.failures
    assert "empty" in failure.message and "not-checked" not in str(failure)


def test_sessions_of_the_openai_agents_sdk(postgres_url):
    import psycopg

    items = [{"role": "user", "content": "Hi"}, {"type": "message", "role": "assistant", "content": "Hello"}]
    with psycopg.connect(postgres_url) as connection:
        connection.execute(
            "CREATE TABLE agent_messages (id SERIAL PRIMARY KEY, session_id TEXT, message_data TEXT)"
        )
        for name, item in [(name, item) for item in items for name in ("t", "s")]:
            statement = "INSERT INTO agent_messages (session_id, message_data) VALUES (%s, %s)"
            connection.execute(statement, (name, json.dumps(item)))
    found = read_file(postgres_url).conversations
    assert [(c.conversation_id, turns(c)) for c in found] == [(n, [("Hi", [], [], "Hello")]) for n in "st"]


def test_a_run_tells_no_password(turnwise, postgres_url, tmp_path):
    fill(postgres_url, NEW, new_row)
    config = tmp_path / "config.json"
    config.write_text('{"criteria": {"tool_call_count_v1": 5}}')
    done = turnwise("run", "--input", postgres_url, "--config", config, output=tmp_path / "out")
    document = done.document("run.json")
    assert (done.status, document["counts"]["results"]) == (0, len(SESSIONS))
    assert document["input"] == [postgres_url.replace("not-checked", "***")]
    said = [done.out, done.err, *(path.read_text() for path in tmp_path.glob("out/**/*") if path.is_file())]
    assert all("not-checked" not in text for text in said)
    shown = turnwise("inspect", "--json", postgres_url)
    [file] = json.loads(shown.out)["files"]
    assert file["path"] == document["input"][0] and "not-checked" not in shown.out + shown.err
    streamed = turnwise("run", "--streaming", "--input", postgres_url, output=tmp_path / "stream")
    assert streamed.status == 2 and "cannot be used with --streaming" in streamed.err
    assert "not-checked" not in streamed.err


def test_what_is_no_database_of_sessions_is_refused(turnwise, postgres_url):
    wrong = {
        postgres_url: "without sessions of google-adk",
        postgres_url.replace("/test", "/none-"): "does not exist",
        "postgresql+asyncpg://me:not-checked@127.0.0.1:1/d": "127.0.0.1",
        "postgresql://me:not-checked@127.0.0.1:port/d": "no URL",
    }
    for url, why in wrong.items():
        done = turnwise("run", "--input", url, output=Path("unused"))
        assert (done.status, done.err.count("\n")) == (2, 1)
        assert why in done.err and "not-checked" not in done.err and "***" in done.err


def test_the_url_of_a_sqlite_file_names_the_file(tmp_path):
    with pytest.raises(ConfigError, match="no such file"):
        file_patterns("--input", [f"sqlite:///{tmp_path}/none.db"])
    (tmp_path / "log.jsonl").write_text("{}")
    url = f"sqlite+aiosqlite:///{tmp_path}/log.jsonl"
    assert file_patterns("--input", [url]) == [f"{tmp_path}/log.jsonl"]
