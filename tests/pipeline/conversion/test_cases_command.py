"""`turnwise cases`: what a conversation or a sample shows, whatever its size and order."""

import pytest

import turnwise as api
from tests.pipeline.logs import write
from turnwise.transforms.decisions.cases import row_candidate

CONFIG = {"criteria": {"response_match_score": 0.8}}


@pytest.fixture
def made(turnwise, tmp_path):
    """Makes cases of a sample of logs, or of what is at a path; returns them, and the output."""

    def run(source, *options):
        path = write(tmp_path / "made.jsonl", *source) if isinstance(source, list) else source
        output = tmp_path / "made.json"
        done = turnwise("cases", "--from", path, "--select", "sample", "--to", output, *options)
        assert done.status == 0
        cases = api.read_cases(str(output))
        output.unlink()
        return cases, done.out

    return run


def log(name, user):
    return {"conversation_id": name, "turns": [{"user": user, "agent": "Done"}]}


@pytest.mark.parametrize(
    ("agent", "failed_turns", "failed"),
    [("Done", set(), set()), ("Done", {1}, {1}), ("No", {1}, {1}), ("No", set(), {0, 1})],
)
def test_all_turns_failed_only_where_the_conversation_did_and_no_turn(agent, failed_turns, failed):
    """A turn may fail a criterion without a threshold for the whole, which then passes."""
    turns = [{"user": "Book it", "agent": agent, "expected": {"response": "Done"}}] * 2
    done = api.evaluate([{"conversation_id": "c", "turns": turns}], config=CONFIG, judge="none")
    (row,) = done.conversations
    assert row_candidate(row, frozenset(failed_turns)).failed == failed


def test_cut_transcripts_are_refused_and_logs_are_not(made, score_logs):
    logs = [log("c", "word " * 20_000), log("d", "Book it")]
    config = {"criteria": {"turn_latency": {}}}
    cases, out = made(score_logs(logs, config).directory)
    assert [case.eval_id for case in cases] == ["d"] and "cut" in out
    cases, _ = made(logs)
    assert len(cases) == 2 and len(cases[0].turns[0].user) > 90_000


def test_a_sample_is_the_same_whatever_the_order(made):
    logs = [log(f"c{i}", f"Book {i}") for i in range(40)]
    names = [
        [case.eval_id for case in made(source, "--number", "5", "--seed", seed)[0]]
        for source, seed in ((logs, "1"), (logs[::-1], "1"), (logs, "2"))
    ]
    assert names[0] == names[1] != names[2] and len(names[0]) == 5
