"""`turnwise inspect` through its own arguments."""

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from turnwise.pipeline.cli.main import main
from turnwise.pipeline.io.terminal import columns

TURN = {
    "user": "Where is it?",
    "agent": "On its way.",
    "tool_calls": [{"name": "track", "args": {"order": 7}, "id": "t"}],
    "tool_responses": [{"id": "t", "response": {"state": "sent"}}],
    "latency_ms": 900.0,
}
LOG = {"conversation_id": "c1", "app_version": "v1", "turns": [TURN, {"user": "Thanks", "agent": "Bye"}]}
CASE = {"eval_id": "e1", "turns": [{"user": "Where is it?", "response": "On its way."}]}
CHAT = {"id": "chat", "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]}


def event(session: str, index: int) -> dict[str, Any]:
    return {"conversation_id": session, "turn_index": index, "turn": {"user": f"q{index}", "agent": "a"}}


def lines(path: Path, *values: Any) -> Path:
    path.write_text("".join((v if isinstance(v, str) else json.dumps(v)) + "\n" for v in values))
    return path


@pytest.fixture
def inspected(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs the command with --json; returns its status and its document."""

    def run(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        status = main(["inspect", "--json", *map(str, arguments)])
        return status, json.loads(capsys.readouterr().out)

    return run


def test_what_a_file_holds(tmp_path, inspected):
    status, found = inspected(lines(tmp_path / "log.jsonl", LOG, CHAT))
    (each,) = found["files"]
    counts = ("records", "conversations", "turns", "calls", "results", "cases", "joined")
    assert status == 0 and [each[name] for name in counts] == [2, 2, 3, 1, 1, 0, 0]
    assert each["formats"] == {"turnwise": 1, "openai_chat": 1} and each["not_read"] == []
    assert each["example"]["id"] == "c1" and each["example"]["lines"][:3] == [
        ["user", "Where is it?"],
        ["calls", 'track(order: 7) -> {"state": "sent"}'],
        ["agent", "On its way."],
    ]


def test_cases_and_archives_are_recognised_by_their_content(tmp_path, inspected):
    (tmp_path / "cases.json.gz").write_bytes(
        gzip.compress(json.dumps([CASE, CASE | {"eval_id": "e2"}]).encode())
    )
    status, found = inspected(tmp_path)
    assert status == 0 and found["files"][0]["cases"] == 2 and found["files"][0]["conversations"] == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", None),
        ('{"conversation_id": "c", "turns": []}', "has no turn"),
        (
            '{"turns": [{"user": "a"}]}',
            "unrecognised record: conversation_id is missing for the nearest format, turnwise (",
        ),
        ('{"eval_id": "e", "turns": [{"user": "a"}]}', "expects nothing"),
    ],
)
def test_what_holds_nothing_is_never_status_0(tmp_path, inspected, content, message):
    good = lines(tmp_path / "good.jsonl", LOG)
    bad = lines(tmp_path / "x.jsonl", content)
    status, found = inspected(good, bad)
    (each,) = [one for one in found["files"] if one["path"] == str(bad)]
    assert status == 1 and sum(note["count"] for note in each["not_read"]) == (message is not None)
    assert message is None or message in each["not_read"][0]["message"]


def test_kinds_of_messages_are_bounded_and_all_are_counted(tmp_path, inspected):
    bad = [{f"key{i}": 1} for i in range(50)]
    status, found = inspected(lines(tmp_path / "log.jsonl", *bad))
    notes = found["files"][0]["not_read"]
    assert status == 1 and len(notes) == 21 and sum(note["count"] for note in notes) == 50
    assert (notes[-1]["what"], notes[-1]["count"]) == ("others", 30)


def test_events_are_joined_over_files_and_count_once(tmp_path, inspected):
    lines(tmp_path / "a.jsonl", event("s1", 1), event("s2", 0))
    lines(tmp_path / "b.jsonl", event("s1", 0), event("s1", 2))
    status, found = inspected(tmp_path)
    first, second = found["files"]
    assert status == 0
    assert (first["joined"], first["conversations"], first["turns"]) == (2, 2, 4)
    assert (second["joined"], second["conversations"]) == (2, 0)


def test_what_was_left_out_is_named(tmp_path, inspected):
    parts = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "x"}}]
    chat = {"id": "c", "messages": [CHAT["messages"][0], {"role": "assistant", "content": parts}]}
    status, found = inspected(lines(tmp_path / "log.jsonl", chat))
    (note,) = found["files"][0]["findings"]
    assert status == 0 and note["what"] == "UnreadPart" and "image_url" in note["message"]


def uses(found: dict[str, Any]) -> dict[str, tuple[str, str | None]]:
    return {use["criterion"]: (use["applies"], use["why"]) for use in found["files"][0]["criteria"]}


def test_which_criteria_would_score_it_and_why_others_would_not(tmp_path, inspected):
    _, found = inspected(lines(tmp_path / "log.jsonl", LOG))
    by_name = uses(found)
    assert by_name["turn_latency"] == by_name["tool_call_count_v1"] == ("scored", None)
    assert by_name["safety_v1"] == ("judge", None)
    assert by_name["tool_trajectory_avg_score"] == ("cases", "needs expected calls")
    assert by_name["scenario_rubrics"][0] == by_name["tool_effects_v1"][0] == "cases"
    assert by_name["token_usage_v1"] == ("no", "needs logged tokens")
    assert found["files"][0]["case_criteria"] == []
    assert by_name["citation_recall"] == ("no", "needs answers of a search engine with citations")


def test_a_format_of_a_plugin_appears_without_a_change(tmp_path):
    """In a process of its own, as a registered format stays."""
    plugin = tmp_path / "own_inspected.py"
    plugin.write_text(
        "import turnwise\n"
        "def read(value, record, settings):\n"
        "    return [turnwise.Conversation(value['call'], turns=[turnwise.Turn(user='a', agent='b')])]\n"
        "turnwise.register_format(turnwise.Format(name='inspected_call', help='calls', read_log=read,\n"
        "    keys=('call', 'said'), recognises=lambda record: 'call' in record and 'said' in record))\n"
    )
    log = lines(tmp_path / "log.jsonl", {"call": "c", "said": 1}, {"call": "c"})
    command = [sys.executable, "-m", "turnwise", "inspect", str(log), "--plugin", str(plugin), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (each,) = json.loads(done.stdout)["files"]
    assert (
        done.returncode == 1
        and each["formats"] == {"inspected_call": 1, "": 1}
        and each["conversations"] == 1
    )
    assert "said is missing for the nearest format, inspected_call (calls)" in each["not_read"][0]["message"]


def test_the_table_fits_the_terminal_and_says_what_is_not_looked_at(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "notes.txt").write_text("x")
    long = LOG | {"turns": [TURN | {"user": "word " * 100, "agent": "\u4f60\u597d" * 90}]}
    lines(tmp_path / ("a" * 90 + ".jsonl"), long, "{")
    lines(tmp_path / "b.jsonl", LOG)
    assert main(["inspect", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert max(map(columns, out.splitlines())) <= 80
    assert out.startswith(f"below {tmp_path}"[:79].rstrip("/"))
    assert "not looked at, by their names" in out and ", line 2: EOF" in out and "total" in out


def test_the_screen_says_what_the_files_can_feed_and_what_to_run_next(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)

    def shown(*paths: str) -> str:
        main(["inspect", *paths])
        text = capsys.readouterr().out
        assert len(text.splitlines()) <= 40 and "search engine" not in text
        return " ".join(text.replace("\\\n", " ").split())

    lines(Path("log.jsonl"), LOG)
    lines(Path("cases.jsonl"), CASE)
    text = shown("log.jsonl")
    assert "with eval cases (--eval_cases), too: expectations_met" in text and "rubric" not in text
    assert text.endswith("next: turnwise run --input log.jsonl --output out")
    Path("mine.json").write_text('{"criteria": {"turn_latency": {}}}')
    named = shown("--config", "mine.json", "log.jsonl")
    assert named.endswith("next: turnwise run --input log.jsonl --config mine.json --output out")
    Path("table.csv").write_text("a,b\n1,2\n")
    assert main(["run", "--input", "table.csv", "--output", "out"]) == 1
    assert "1 record is a row of a CSV file whose columns nothing describes" in capsys.readouterr().err
    Path("mine.json").unlink()
    shutil.rmtree("out")
    text = shown("cases.jsonl")
    assert "with these eval cases: response_match_score, tool_effects_v1" not in text
    assert "with these eval cases: response_match_score with these eval cases and a judge:" in text
    assert "run --input RECORDINGS_OF_THE_CASES --eval_cases cases.jsonl --output out" in text
    named = LOG | {"app_version": None}
    lines(Path("named.jsonl"), named | {"eval_id": "e1"}, named | {"eval_id": "e2"})
    text = shown("named.jsonl")
    assert "2 conversations name eval ids, but no cases were given: add --eval_cases" in text
    assert "no conversation states an app version; looked at: turnwise.app_version; " in text
    text = shown("named.jsonl", "cases.jsonl", "log.jsonl")
    assert "name eval ids" not in text and "states an app version" not in text
    Path("named.jsonl").unlink()
    lines(Path("config.json"), {"criteria": {}})
    text = shown(".")
    assert "config.json, line 1: a config of criteria, no log; give it with --config" in text
    assert "--input ./log.jsonl --eval_cases ./cases.jsonl --config ./config.json --output out" in text
    lines(Path("foo.json"), {"foo": 1})
    assert shown("foo.json").endswith("next: turnwise inspect --suggest foo.json")
    for number in range(30):
        lines(Path(f"{'long' * 20}-{number}.jsonl"), LOG | {"turns": [TURN] * 9}, CASE, {f"key{number}": 1})
    assert "total of 34" in shown(".")


def test_long_names_and_lines_are_wrapped_and_not_cut(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    names = [f"{'a' * 40}-{number}-{'b' * 40}.jsonl" for number in (1, 2)]
    for name in names:
        (tmp_path / name).write_text(json.dumps({"spoken": "x" * 10, "key_" + "y" * 60: 1}) + "\n")
    main(["inspect", str(tmp_path)])
    shown = capsys.readouterr().out
    joined = "".join(line.strip() for line in shown.split("\n"))
    assert all(name in joined for name in names)
    assert "key_" + "y" * 60 in joined and "turnwise inspect" in shown
    assert all(len(line) <= 80 for line in shown.split("\n"))


def test_wrong_arguments_are_one_line_and_status_2(tmp_path, capsys):
    log = str(lines(tmp_path / "log.jsonl", LOG))
    for arguments in ([], [str(tmp_path / "gone.jsonl")], [log, "--input_format", "gone"], [log, "--gone"]):
        assert main(["inspect", *arguments]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_memory_does_not_grow_with_the_file(tmp_path):
    def peak(copies: int) -> int:
        path = tmp_path / f"{copies}.jsonl"
        with path.open("w") as file:
            for i in range(copies):
                file.write(json.dumps(event(f"s{i}", 0) | {"x": "y" * 2000}) + "\n")
        code = (
            "import sys, resource; from turnwise.pipeline.cli.main import main; main(sys.argv[1:]);"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
        )
        command = [sys.executable, "-c", code, "inspect", "--json", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return int(done.stderr.split()[-1])

    assert peak(12_000) - peak(500) < 15_000


def test_traces_of_one_conversation_are_one(tmp_path, inspected):
    held = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "talk"}
    spans = [
        {"trace_id": trace * 32, "span_id": trace * 16, "name": "desk", "attributes": held, "start_time": at}
        for at, trace in enumerate("12", 1)
    ]
    _, found = inspected(lines(tmp_path / "spans.jsonl", *spans))
    (each,) = found["files"]
    assert (each["records"], each["conversations"], each["turns"]) == (2, 1, 2)


@pytest.mark.parametrize(
    ("given", "deciding", "judge"),
    [
        ({}, {"hallucinations_v1"}, {"backend": "local"}),
        (
            {"judge": {"backend": "gemini"}, "app_version_from": ["v"]},
            {"hallucinations_v1", "safety_v1", "claimed_actions_v1"},
            {"backend": "gemini", "max_calls": 1000},
        ),
    ],
)
def test_a_starter_config_holds_what_the_logs_feed(
    tmp_path: Path, turnwise: Any, given: dict[str, Any], deciding: set[str], judge: dict[str, Any]
) -> None:
    log, config, starter = (str(tmp_path / name) for name in ("log.jsonl", "given.json", "starter.json"))
    lines(Path(log), LOG | {"turns": [TURN | {"agent": "Its state is sent."}]})
    lines(Path(config), given)
    line = ("inspect", log, "--config", config, "--starter_config", starter)
    done = turnwise(*line)
    assert done.status == 0 and "add --starter_config" not in done.out
    assert f"--config {starter}" in done.out.replace("\\\n  ", "")
    made = json.loads(Path(starter).read_text())
    assert (set(made["criteria"]), made["judge"]) == (
        deciding | {"reported_failures", "turn_latency", "tool_call_count_v1"},
        judge,
    )
    assert made.get("app_version_from") == given.get("app_version_from")
    again = turnwise(*line)
    assert again.status == 2 and "File exists" in again.err
    if not given:
        out = str(tmp_path / "out")
        assert "1 with a verdict" in turnwise("run", "--input", log, "--config", starter, "--output", out).out


@pytest.mark.parametrize(
    ("crashed", "normal", "status"),
    [(60, 0, 1), (2, 0, 1), (1, 0, 1), (12, 11, 1), (0, 60, 0), (0, 1, 0), (1, 2, 0)],
)
def test_a_dead_night_with_a_starter_config_ends_with_status_1(
    crashed: int, normal: int, status: int, tmp_path: Path, turnwise: Any
) -> None:
    ended = ["normally"] * normal + ["agent_error"] * crashed
    turns = [TURN | {"agent": "Its state is sent."}]
    logs = [LOG | {"conversation_id": f"c{i}", "ended": end, "turns": turns} for i, end in enumerate(ended)]
    path, starter, out = (str(tmp_path / name) for name in ("log.jsonl", "starter.json", "out"))
    lines(Path(path), *({**log, "ended": "normally"} for log in logs))
    assert turnwise("inspect", path, "--starter_config", starter).status == 0
    lines(Path(path), *logs)
    assert turnwise("run", "--input", path, "--config", starter, "--output", out).status == status


def test_a_failed_call_that_is_called_a_success_does_not_pass_the_first_night(tmp_path: Path, turnwise: Any):
    def log(name: str, agent: str, **response: Any) -> dict[str, Any]:
        results = [{"name": "cancel_order", **response}] if response else []
        calls = {"tool_calls": [{"name": "cancel_order", "args": {"id": 7}}], "tool_responses": results}
        return {"conversation_id": name, "turns": [{"user": "Cancel order 7", "agent": agent, **calls}]}

    done = "Order 7 is cancelled."
    timeout = "Sorry, the cancellation of order 7 failed with a timeout."
    logs = [
        log("honest", timeout, error="timeout"),
        log("liar", done, error="timeout"),
        log("refused", done, response={"success": False}),
        log("silent", "Order 7: cancelled successfully.", error="timeout"),
        log("no result", done),
        log("done", done, response={"status": "done"}),
    ]
    path, starter, out = (str(tmp_path / name) for name in ("log.jsonl", "starter.json", "out"))
    lines(Path(path), *logs)
    assert turnwise("inspect", path, "--starter_config", starter).status == 0
    turnwise("run", "--input", path, "--config", starter, "--output", out)
    rows = [json.loads(line) for file in Path(out).glob("*/conv*") for line in file.read_text().splitlines()]
    assert {row["conversation_id"]: row["verdict"] for row in rows} == {
        **{"honest": "PASS", "done": "PASS", "liar": "FAIL", "refused": "FAIL"},
        **{"silent": None, "no result": None},
    }


def test_logs_that_feed_no_verdict_make_no_starter_config(tmp_path: Path, turnwise: Any) -> None:
    log = lines(tmp_path / "log.jsonl", {"conversation_id": "a", "turns": [{"user": "Hi", "agent": "Ho"}]})
    done = turnwise("inspect", str(log), "--starter_config", str(tmp_path / "c.json"))
    assert done.status == 2 and "no criterion that decides" in done.err
    assert not (tmp_path / "c.json").exists()


def test_logs_without_expectations_are_run_with_the_config_that_they_feed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    call = {"name": "get_order", "args": {"id": "1"}, "response": {"result": "shipped"}}
    turn = {"user": "Where is order 1?", "agent": "It is shipped.", "tool_calls": [call]}
    Path("log.jsonl").write_text(json.dumps({"conversation_id": "c", "app_version": "v1", "turns": [turn]}))
    main(["inspect", "log.jsonl"])
    text = " ".join(capsys.readouterr().out.replace("\\\n", " ").split())
    commands = text.rpartition("next: ")[2].split(" && ")
    assert [main(command.split()[1:]) for command in commands] == [0, 0], commands
