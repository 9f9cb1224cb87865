"""`turnwise cases` through its own arguments."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import turnwise
from tests.pipeline.logs import write
from turnwise.pipeline.cli.main import main
from turnwise.schemas.case import EvalCase
from turnwise.transforms.decisions.cases import TO_WRITE, row_candidate

CALL = {"name": "book", "args": {"people": 2}}


def log(name: str, user: str = "Book it", agent: str = "Done", **fields: Any) -> dict[str, Any]:
    turn = {"user": user, "agent": agent, "tool_calls": [CALL], **fields.pop("turn", {})}
    return {"conversation_id": name, "turns": [turn], **fields}


@pytest.fixture
def made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Makes cases of logs, or of what is at a place, with --json; returns status, document and the cases."""

    def run(
        source: str | Sequence[Any], select: str, *options: str
    ) -> tuple[int, dict[str, Any], list[EvalCase]]:
        if not isinstance(source, str):
            source = str(write(tmp_path / "made.jsonl", *source))
        output = tmp_path / "made.json"
        output.unlink(missing_ok=True)
        capsys.readouterr()
        status = main(
            ["cases", "--from", source, "--select", select, "--to", str(output), "--json", *options]
        )
        done = json.loads(capsys.readouterr().out)
        return status, done, turnwise.read_cases(str(output)) if output.exists() else []

    return run


@pytest.fixture
def scored(score_logs: Any) -> Any:
    """Scores logs; returns the output directory."""

    def run(logs: Sequence[Any], *options: str) -> str:
        criteria = {"response_match_score": 0.8, "tool_call_count_v1": {"threshold": 1}}
        done = score_logs(logs, {"criteria": criteria}, *options)
        assert done.status == 0
        return str(done.directory)

    return run


def test_a_recording_is_expected_and_marked(made):
    status, done, (case,) = made([log("c1", tags=["desk"])], "sample")
    (turn,) = case.turns
    assert (status, case.eval_id, case.eval_set_id) == (0, "c1", "made")
    assert (turn.user, turn.response, turn.tool_calls[0].args) == ("Book it", "Done", {"people": 2})
    assert case.tags == ["desk", "to_approve", "conversation:c1"]
    assert done["notes"] == {"turns that expect the recorded answer and calls": 1}


def test_what_was_asked_and_done_before_is_left_out(made):
    orders = {"people": 2, "day": "Monday"}, {"day": "Monday", "people": 2}, {"people": 3, "day": "Monday"}
    first, same, other = ({"tool_calls": [{"name": "book", "args": args}]} for args in orders)
    logs = [log("b", turn=first), log("a", " book  IT", "Other words", turn=same), log("c", turn=other)]
    logs += [log("d", "Cancel"), log("e", turn=first)]
    status, done, cases = made(logs, "sample")
    assert status == 0 and [case.eval_id for case in cases] == ["a", "c", "d"]
    assert done["skipped"] == {"asked and done as in another conversation": 2}


@pytest.mark.parametrize("form", ["turnwise", "adk_eval_set", "ces_evaluation"])
def test_a_failed_answer_is_not_expected(made, scored, form):
    calls = [CALL, CALL]
    failed = log("bad", "Twice", "A wrong answer", turn={"tool_calls": calls})
    status, done, (case,) = made(scored([failed, log("good")]), "failed", "--format", form)
    assert status == 0 and case.turns[0].response == TO_WRITE
    assert done["notes"] == {"turns whose answer failed, to be written": 1}
    assert "to_approve" in case.tags or case.eval_id.startswith("to_approve-")
    assert "A wrong answer" not in str(case)


@pytest.mark.parametrize(
    ("agent", "failed_turns", "failed"),
    [("Done", set(), set()), ("Done", {1}, {1}), ("No", {1}, {1}), ("No", set(), {0, 1})],
)
def test_all_turns_failed_only_where_the_conversation_did_and_no_turn(agent, failed_turns, failed):
    """A turn may fail a criterion without a threshold for the whole, which then passes."""
    turns = [{"user": "Book it", "agent": agent, "expected": {"response": "Done"}}] * 2
    config = {"criteria": {"response_match_score": 0.8}}
    done = turnwise.evaluate([{"conversation_id": "c", "turns": turns}], config=config, judge="none")
    (row,) = done.conversations
    assert row_candidate(row, frozenset(failed_turns)).failed == failed


def test_what_a_person_expected_stays(made, scored):
    expected = {"response": "A table for two", "tool_calls": [CALL]}
    status, _, (case,) = made(scored([log("c", turn={"expected": expected})]), "failed")
    assert status == 0 and case.turns[0].response == "A table for two"
    assert case.tags[:2] == ["to_approve", "from_failed"]


def test_the_last_turn_of_an_agent_that_broke_off_is_not_expected(made):
    first, last = log("x")["turns"][0], log("x", "Now?", "half an ans")["turns"][0]
    source = {"conversation_id": "c", "turns": [first, last], "ended": "agent_error"}
    _, _, (case,) = made([source], "sample")
    assert [turn.response for turn in case.turns] == ["Done", TO_WRITE]


def test_calls_that_the_log_may_miss_are_not_stated(made):
    unknown = log("c", turn={"unknown_calls": "an image"})
    _, done, (case,) = made([unknown], "sample")
    assert case.turns[0].tool_calls is None
    assert done["notes"]["turns of which the log may miss something, not stated"] == 1


def test_what_the_log_may_miss_of_the_user_is_to_be_looked_at(made):
    finding = {"kind": "UnreadUserText", "message": "the model was asked something else"}
    logs = [log("a", "Is it safe?", turn={"findings": [finding]}), log("b", turn={"user": None})]
    _, done, cases = made(logs, "sample")
    assert len(cases) == 2
    assert done["notes"]["turns of which the log may miss what the user said, to be looked at"] == 1
    assert done["notes"]["turns without a message of the user, to be looked at"] == 1


def test_cut_transcripts_are_refused_and_logs_are_not(tmp_path, made, scored):
    long = log("c", "word " * 20_000)
    status, done, cases = made(scored([long, log("d")]), "sample")
    assert status == 0 and [case.eval_id for case in cases] == ["d"]
    assert any("cut" in reason for reason in done["skipped"])
    _, _, cases = made(str(tmp_path / "out.jsonl"), "sample")
    assert len(cases) == 2 and len(cases[0].turns[0].user) > 90_000


def test_a_sample_is_the_same_whatever_the_order(made):
    logs = [log(f"c{i}", f"Book {i}") for i in range(40)]
    names = [
        [case.eval_id for case in made(source, "sample", "--number", "5", "--seed", seed)[2]]
        for source, seed in ((logs, "1"), (logs[::-1], "1"), (logs, "2"))
    ]
    assert names[0] == names[1] != names[2] and len(names[0]) == 5


def test_a_filter_selects(made, scored):
    logs = [log("a", "One", app_version="v1"), log("b", "Two", app_version="v2")]
    status, done, (case,) = made(logs, "app_version = v2 AND tool = bo*")
    assert (status, case.eval_id, done["skipped"]) == (0, "b", {"not selected": 1})
    assert [c.eval_id for c in made(scored(logs), "verdict = PASS AND text:two")[2]] == ["b"]
    logs[0]["turns"][0]["speakers"] = ["billing"]
    for source in (logs, scored(logs, "--overwrite")):
        assert [c.eval_id for c in made(source, "agent = billing")[2]] == ["a"]


def test_names_are_unique(made):
    logs = [log("apps/a/conversations/c", "One"), log("apps/b/conversations/c", "Two"), log("c", "Three")]
    _, _, cases = made(logs, "sample")
    assert sorted(case.eval_id for case in cases) == ["c", "c-2", "c-3"]


def test_wrong_arguments_are_one_line_and_write_nothing(tmp_path, capsys):
    source, out = str(write(tmp_path / "l.jsonl", log("c"))), str(tmp_path / "o.json")
    good = {"--from": source, "--select": "sample", "--to": out}
    for wrong in (
        {"--select": "failed"},
        {"--select": "verdict = FAIL"},
        {"--select": "turns >"},
        {"--select": ""},
        {"--format": "openai_chat"},
        {"--format": "gone"},
        {"--number": "0"},
        {"--from": str(tmp_path / "gone")},
        {"--to": source},
    ):
        assert main(["cases", *(word for pair in (good | wrong).items() for word in pair)]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert not Path(out).exists()
    assert main(["cases"]) == 2
