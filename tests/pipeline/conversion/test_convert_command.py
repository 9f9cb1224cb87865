"""`turnwise convert` through its own arguments."""

import json
from pathlib import Path
from typing import Any

import pytest

import turnwise
from tests.pipeline.logs import write
from turnwise.pipeline.cli.main import main
from turnwise.transforms.decisions.conversion import TARGETS

SAMPLE = Path(__file__).parents[3] / "pipeline/sample_data"
CALL = {"name": "track", "args": {"order": 7}, "id": "t"}
TURN = {
    "user": "Where is it?",
    "agent": "On its way.",
    "tool_calls": [CALL],
    "tool_responses": [{"id": "t", "name": "track", "response": {"state": "sent"}}],
}
LOG = {"conversation_id": "c1", "turns": [TURN]}
CASE = {"eval_id": "e1", "turns": [{"user": "Where is it?", "response": "On its way.", "tool_calls": []}]}


def lines(path: Path, *values: Any) -> str:
    return str(write(path, *values))


@pytest.fixture
def convert(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Converts with --json; returns status, document and the path of the output."""

    def run(source: str, to: str, *options: str) -> tuple[int, dict[str, Any], Path]:
        output = tmp_path / f"out-{to}.evalset_result.json"
        capsys.readouterr()
        status = main(["convert", source, str(output), "--to", to, "--json", *options])
        return status, json.loads(capsys.readouterr().out), output

    return run


@pytest.mark.parametrize("to", ["turnwise", "openai_chat"])
def test_logs_are_read_back_equal(tmp_path, convert, to):
    source = lines(tmp_path / "log.jsonl", LOG, LOG | {"conversation_id": "c2"})
    status, done, output = convert(source, to)
    assert (status, done["written"], done["not_held"], done["added"]) == (0, 2, {}, {})
    before, after = (turnwise.read_conversations(str(path)) for path in (source, output))
    assert [(c.conversation_id, c.turns[0].tool_calls) for c in before] == [
        (c.conversation_id, c.turns[0].tool_calls) for c in after
    ]


@pytest.mark.parametrize("to", ["turnwise", "adk_eval_set", "ces_evaluation"])
def test_cases_are_read_back_equal(tmp_path, convert, to):
    status, done, output = convert(lines(tmp_path / "cases.jsonl", CASE), to)
    assert (status, done["cases"], done["written"], done["not_held"]) == (0, 1, 1, {})
    (case,) = turnwise.read_cases(str(output))
    (turn,) = case.turns
    assert (case.eval_id, turn.user, turn.response) == ("e1", "Where is it?", "On its way.")
    assert turn.tool_calls == []


def test_what_is_not_held_is_listed_on_the_terminal(tmp_path, capsys):
    log = LOG | {"app_version": "v1", "turns": [TURN | {"latency_ms": 5.0}]}
    output = tmp_path / "out.json"
    assert main(["convert", lines(tmp_path / "l.jsonl", log), str(output), "--to", "ces_evaluation"]) == 0
    out = capsys.readouterr().out
    assert "1 conversation read, 1 record written as ces_evaluation" in out
    assert "not held by ces_evaluation: app_version 1, turns.latency_ms 1" in " ".join(out.split())


def test_what_cannot_be_read_or_held_is_status_1(tmp_path, convert):
    scenario = {"eval_id": "s", "kind": "scenario", "task": "Book"}
    status, done, _ = convert(lines(tmp_path / "mixed.jsonl", CASE, "{", scenario), "openai_chat")
    assert (status, done["written"], done["lost_count"]) == (1, 1, 2)
    assert [(one["position"], "has no turns" in one["reason"]) for one in done["rejected"]] == [
        (2, False),
        (3, True),
    ]


def test_nothing_written_leaves_no_file(tmp_path, convert):
    status, done, output = convert(lines(tmp_path / "bad.jsonl", "{"), "turnwise")
    assert (status, done["output"], output.exists()) == (1, None, False)
    assert list(tmp_path.glob("*.partial")) == []
    status, done, output = convert(lines(tmp_path / "empty.jsonl"), "turnwise")
    assert (status, done["written"], output.exists()) == (1, 0, False)


def test_an_eval_set_has_each_id_once(tmp_path, convert):
    other = CASE | {"turns": [{"user": "Other", "response": "x"}]}
    status, done, output = convert(lines(tmp_path / "cases.jsonl", CASE, CASE, other), "adk_eval_set")
    assert (status, done["written"], done["lost_count"]) == (1, 1, 1)
    assert done["skipped"] == {"equal to an earlier record": 1} and "once" in done["rejected"][0]["reason"]
    assert len(json.loads(output.read_text())["eval_cases"]) == 1


def test_events_are_joined_before(tmp_path, convert):
    events = [
        {"conversation_id": "s", "turn_index": i, "turn": {"user": f"q{i}", "agent": "a"}} for i in (1, 0)
    ]
    status, done, output = convert(lines(tmp_path / "events.jsonl", *events), "openai_chat")
    assert (status, done["conversations"]) == (0, 1)
    assert [m["content"] for m in json.loads(output.read_text())["messages"]] == ["q0", "a", "q1", "a"]


@pytest.mark.parametrize("to", sorted(TARGETS))
def test_the_sample_is_converted_whole(convert, to):
    status, done, output = convert(str(SAMPLE / "conversations"), to)
    # One record of the sample is broken on purpose.
    reasons = [one["reason"] for one in done["rejected"]]
    assert status == 1 and sum("EOF" in reason for reason in reasons) == 1
    repeated = sum(done["skipped"].values()) + sum("once" in reason for reason in reasons)
    assert done["conversations"] == 60 == done["written"] + repeated
    assert main(["inspect", str(output)]) == 0


def test_wrong_arguments_are_one_line_and_write_nothing(tmp_path, capsys):
    log, there = lines(tmp_path / "log.jsonl", LOG), lines(tmp_path / "there.json", "x")
    out = str(tmp_path / "out.json")
    for arguments in (
        [log, out],
        [log, out, "--to", "openai"],
        [log, there, "--to", "turnwise"],
        [log, str(tmp_path / "gone" / "x"), "--to", "turnwise"],
        [str(tmp_path / "gone.json"), out, "--to", "turnwise"],
        [log, "--to", "turnwise"],
    ):
        assert main(["convert", *arguments]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert Path(there).read_text() == "x\n" and not Path(out).exists()


@pytest.mark.usefixtures("unchanged")
def test_a_target_of_a_plugin_is_written_and_its_losses_are_found(tmp_path, convert):
    plugin = tmp_path / "own_target.py"
    plugin.write_text(
        "import turnwise\n"
        "def write(log):\n"
        "    return {'call': log.conversation_id, 'said': [turn.user for turn in log.turns]}\n"
        "def read(value):\n"
        "    turns = [turnwise.Turn(i, user=said) for i, said in enumerate(value['said'])]\n"
        "    return turnwise.Conversation(value['call'], turns=turns)\n"
        "turnwise.register_target(turnwise.Target(name='own_calls', help='calls',\n"
        "    conversation=turnwise.Codec(write=write, read=read)))\n"
    )
    status, done, output = convert(lines(tmp_path / "l.jsonl", LOG), "own_calls", "--plugin", str(plugin))
    assert status == 0 and json.loads(output.read_text()) == {"call": "c1", "said": ["Where is it?"]}
    assert done["not_held"] == {"turns.agent": 1, "turns.tool_calls": 1, "turns.tool_responses": 1}
