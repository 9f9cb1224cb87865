"""Files that are no JSON text: zip archives, SQLite databases, YAML, CSV."""

import contextlib
import json
import pickle
import sqlite3
import zipfile

import pytest
import zstandard

from tests.readings import FORMATS, findings, read_file, tokens, turns

GET, INF = {"id": "1", "name": "get"}, float("inf")
EVENTS = [
    {"author": "user", "content": {"role": "user", "parts": [{"text": "Where is A-17?"}]}},
    {"author": "desk", "content": {"parts": [{"function_call": {**GET, "args": {"id": 17}}}]}},
    {"author": "desk", "content": {"parts": [{"function_response": {**GET, "response": {"a": INF}}}]}},
    {"author": "desk", "content": {"role": "model", "parts": [{"text": "Shipped."}]}},
]  # fmt: skip
SAID = [("Where is A-17?", [("get", {"id": 17})], [("get", {"a": None})], "Shipped.")]
SESSIONS = (
    "CREATE TABLE sessions (app_name TEXT, user_id TEXT, id TEXT, state TEXT, "
    "create_time REAL, update_time REAL)"
)
EVENT_KEYS = "id TEXT, app_name TEXT, user_id TEXT, session_id TEXT, invocation_id TEXT"
HI = {"role": "user", "content": "Hi"}


class Bomb:
    """An object that ends the test's process when it is unpickled."""

    def __reduce__(self):
        return exit, (13,)


def database(path, stamps, columns, row, *more):
    """Writes a database with two sessions, of which the second has the same events."""
    connection = sqlite3.connect(path)
    connection.execute(SESSIONS)
    connection.execute(f"CREATE TABLE events ({EVENT_KEYS}, timestamp, {columns})")
    for statement in more:
        connection.execute(statement)
    for name in ("s-1", "s-2"):
        values = ("desk", "ann", name, '{"eval_id": "e"}', 1.0, 2.0)
        connection.execute("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?)", values)
        for i, (event, stamp) in enumerate(zip(EVENTS, stamps, strict=True)):
            given = (f"{9 - i}", "desk", "ann", name, "i-1", stamp, *row(event))
            marks = ", ".join("?" * len(given))
            connection.execute(f"INSERT INTO events VALUES ({marks})", given)
    connection.commit()
    connection.close()


def test_the_sessions_of_the_sqlite_service(tmp_path):
    path = tmp_path / "agent/.adk/session.db"
    path.parent.mkdir(parents=True)
    state = "CREATE TABLE app_states (app_name TEXT PRIMARY KEY, state TEXT, update_time REAL)"
    fill = "INSERT INTO app_states VALUES ('desk', '{\"version\": \"7\"}', 1.0)"
    database(path, [1.0, 2.0, 2.0, 3.5], "event_data TEXT", lambda e: [json.dumps(e)], state, fill)
    found = read_file(path)
    assert found.failures == []
    assert [c.conversation_id for c in found.conversations] == ["s-1", "s-2"]
    first = found.conversations[0]
    assert turns(first) == SAID
    assert first.state == {"app:version": "7", "eval_id": "e"}
    assert (first.turns[0].latency_ms, findings(first)) == (2500, [])


def test_the_first_schema_of_the_database_service_is_read_without_its_pickles(tmp_path):
    path = tmp_path / "sessions.db"
    stamps = [f"2026-01-01 10:00:0{i}.000000" for i in range(4)]
    columns = "actions BLOB, author TEXT, content TEXT, partial INTEGER, error_code TEXT"
    database(
        path,
        stamps,
        columns,
        lambda e: [pickle.dumps(Bomb()), e["author"], json.dumps(e["content"]), 0, None],
    )
    found = read_file(path)
    first = found.conversations[0]
    assert (turns(first), found.failures) == (SAID, [])
    assert findings(first) == ["PickledActions"]
    assert (first.start_time, first.turns[0].latency_ms) == ("2026-01-01T10:00:00Z", 3000)


def test_another_database_is_a_failure_that_names_its_tables(tmp_path):
    connection = sqlite3.connect(tmp_path / "other.db")
    connection.execute("CREATE TABLE things (id INTEGER)")
    connection.close()
    assert "without sessions" in read_file(tmp_path / "other.db").failures[0].message
    (tmp_path / "cut.db").write_bytes((tmp_path / "other.db").read_bytes()[:200])
    assert "cannot be read" in read_file(tmp_path / "cut.db").failures[0].message


ADD = {"id": "1", "function": "add", "arguments": {"a": 2}}
SAMPLE = {
    "id": "a",
    "epoch": 2,
    "messages": [
        {"role": "user", "content": "2+2?"},
        {"role": "assistant", "content": "", "tool_calls": [ADD]},
        {"role": "tool", "tool_call_id": "1", "function": "add", "content": "attachment://x"},
        {"role": "assistant", "content": [{"type": "reasoning"}, {"type": "text", "text": "4"}]},
    ],
    "attachments": {"x": "4.0"},
    "model_usage": {name: {"input_tokens": 3, "output_tokens": 1} for name in "mn"},
    "limit": {"type": "message", "limit": 4},
}  # fmt: skip


def test_an_inspect_archive_of_zstd(tmp_path):
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps({"version": 2, "eval": {"run_id": "r"}}))
        archive.writestr("summaries.json", "[]")
        archive.writestr("samples/a_epoch_2.json", json.dumps(SAMPLE), zipfile.ZIP_STORED)
    plain = read_file(path).conversations
    raw = bytearray(path.read_bytes())
    content, name = json.dumps(SAMPLE).encode(), b"samples/a_epoch_2.json"
    bomb = bytearray(raw)
    _store(bomb, name, content, zstandard.compress(content + b" " * 1_000_000))
    path.write_bytes(bomb)
    assert "does not have the size that the archive states" in read_file(path).failures[0].message
    _store(raw, name, content, zstandard.compress(content))
    path.write_bytes(raw)
    [conversation] = read_file(path).conversations
    assert [conversation] == plain
    assert conversation.conversation_id == "r/a/2"
    assert turns(conversation) == [("2+2?", [("add", {"a": 2})], [("add", "4.0")], "4")]
    assert (conversation.ended, conversation.ended_detail) == ("limit", "message")
    assert tokens(conversation) == [(6, 2)]


def _store(archive, name, content, packed):
    """Replaces the last member's content by a compressed one of method 93, in place and padded."""
    start = archive.index(content)
    packed = packed + b"\0" * (len(content) - len(packed))
    archive[start : start + len(content)] = packed
    for mark, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        place = archive.rindex(mark)
        assert name in archive[place : place + 100]
        archive[place + offset : place + offset + 2] = (93).to_bytes(2, "little")


@pytest.mark.skipif(not FORMATS.exists(), reason="no recordings")
@pytest.mark.parametrize(
    ("name", "calls", "said", "counted"),
    [
        ("log_formats.eval", [], "No", (66, 2)),
        (
            "2025-05-12T20-27-36-04-00_browser.json",
            [
                ("web_browser_go", {"url": "https://www.aisi.gov.uk/"}),
                ("web_browser_click", {"element_id": 151}),
                ("web_browser_click", {"element_id": 884}),
                ("web_browser_click", {"element_id": 903}),
            ],
            "The AI Security Institute (AISI) is the premier",
            (15235, 281),
        ),
    ],
)
def test_recorded_inspect_logs(name, calls, said, counted):
    found = read_file(FORMATS / "inspect_eval_log" / name)
    [conversation] = found.conversations
    [turn] = conversation.turns
    assert [(call.name, call.args) for call in turn.tool_calls] == calls
    assert len(turn.tool_responses) == len(calls) and turn.agent.startswith(said)
    assert (tokens(conversation), conversation.ended, found.failures) == ([counted], "normally", [])
    assert findings(conversation) == []


def test_yaml_and_archives_hold_what_json_holds(tmp_path):
    chat = "id: c\nmessages:\n- {role: user, content: Hi}\n- {role: assistant, content: Hello}\n"
    (tmp_path / "chat.yaml").write_text(f"{chat}---\n{chat}")
    assert [turns(c) for c in read_file(tmp_path / "chat.yaml").conversations] == [
        [("Hi", [], [], "Hello")]
    ] * 2
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("conversations/1.yaml", chat)
        archive.writestr("conversations/2.json", json.dumps({"messages": [HI]}))
        archive.writestr("readme.txt", "x")
        archive.writestr("__MACOSX/conversations/._2.json", b"\0\5\x16\7")
        archive.writestr("broken.yaml", "a: [")
        archive.writestr("broken.csv", 'role,content\nuser,"Hi\n')
    found = read_file(tmp_path / "export.zip")
    assert [c.turns[0].user for c in found.conversations] == ["Hi", "Hi"]
    csv, yaml = sorted(failure.message for failure in found.failures)
    assert "not YAML" in yaml + csv and "from line 2 on" in csv + yaml


SPREADSHEET = b'role,content,,\r\nuser,"Say ""a"",\r\nb",,\r\n,,,\r\n\r\nassistant,he said "a",,\r\n'
SPACED = b'sep=,\r\nrole, content\r\nuser, "Say ""a"",\r\nb"\r\nassistant, he said "a"\r\n'


@pytest.mark.parametrize("text", [SPREADSHEET, SPREADSHEET.replace(b",,\r\n", b"\r"), SPACED])
def test_csv_files_of_spreadsheets_are_read_with_quotes_line_ends_and_empty_cells(tmp_path, text):
    path = tmp_path / "rows.csv"
    path.write_bytes(text)
    found = read_file(path)
    assert (turns(found.conversations[0]), found.failures) == ([('Say "a",\r\nb', [], [], 'he said "a"')], [])


BRANCHES = [("main", (1, 2, 3, 4)), ("branch_from_turn_2", (1, 2, 5, 6))]


def test_branches_of_a_session_of_the_openai_agents_sdk(tmp_path):
    path = tmp_path / "sessions.db"
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            "CREATE TABLE agent_messages (id INTEGER PRIMARY KEY, session_id TEXT, message_data TEXT);"
            "CREATE TABLE message_structure (id INTEGER PRIMARY KEY, message_id INTEGER, branch_id TEXT);"
        )
        for place, said in enumerate(["q1", "a1", "q2", "a2", "q2, again", "a3"], 1):
            item = json.dumps({"role": "assistant" if said[0] == "a" else "user", "content": said})
            connection.execute("INSERT INTO agent_messages VALUES (?, 's', ?)", (place, item))
        for branch, places in BRANCHES:
            for place in places:
                statement = "INSERT INTO message_structure (message_id, branch_id) VALUES (?, ?)"
                connection.execute(statement, (place, branch))
    [found] = read_file(path).conversations
    assert turns(found) == [("q1", [], [], "a1"), ("q2, again", [], [], "a3")]
    assert findings(found) == ["OtherBranch"]
    assert found.turns[1].unknown_calls
