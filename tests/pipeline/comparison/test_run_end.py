"""The difference between versions at the end of `turnwise run`."""

import json

import pytest

import turnwise
from tests.compared_sides import compared, side
from tests.tables import file_of
from turnwise.pipeline.io.terminal import columns
from turnwise.pipeline.report.comparison import criteria_table, end_comparison
from turnwise.pipeline.report.terminal import version_table
from turnwise.pipeline.runs.directory import open_run
from turnwise.schemas.conversation import Conversation, Record
from turnwise.transforms.decisions.comparison.differences import compare
from turnwise.transforms.decisions.comparison.estimates import CompareOptions
from turnwise.transforms.decisions.comparison.words import amount, side_names

CONFIG = {"criteria": {"response_match_score": 0.8}}


def logs(version, size=30, bad=0):
    """Logs of one version; the first answers are bad."""
    for i in range(size):
        answer = "No, not at all" if i < bad else "Hello"
        turn = {"user": f"Hi {i}", "agent": answer, "expected": {"response": "Hello"}}
        identity = {"conversation_id": f"{version}-{i}", "eval_id": f"e{i}"}
        yield {**identity, **({"app_version": version} if version else {}), "turns": [turn]}


@pytest.fixture
def run(score_logs):
    """Scores logs and returns exit status, the printed text, and the output directory."""

    def score(rows, *options, name="out", config=CONFIG):
        done = score_logs(rows, config, *options, name=name)
        return done.status, done.out, done.directory

    return score


def test_a_baseline_of_another_version_of_turnwise_is_one_line(run):
    _, _, base = run(logs("v1"), name="base")
    table = file_of(base, "conversations")
    rows = [json.loads(line) for line in table.read_text().splitlines()]
    for row in rows:
        del row["task"]
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    status, text, _ = run(logs("v2"), "--baseline", base)
    assert status == 0 and "has no column task" in " ".join(text.partition("\n\n")[0].split())


def test_many_conversations_are_left_to_the_command(run):
    _, _, output = run([*logs("v1", 3), *logs("v2", 3)])
    refused = end_comparison(open_run(str(output)), ["v1", "v2"], (None, None), 110, most=5).refused
    command = f"turnwise compare {output}"
    why = "6 conversations are more than the 5 that the end of a run compares"
    assert refused == [f"not compared: {why}", f"compare: {command}"]
    with_plugin = 110, 6, ["--plugin=own.py"]
    text = end_comparison(open_run(str(output)), ["v1", "v2"], (None, None), *with_plugin).text
    assert "difference" in text and text.endswith(f"more: turnwise compare --plugin=own.py {output}")


@pytest.mark.parametrize("width", [40, 110])
def test_the_lines_fit_the_terminal(run, width):
    _, _, output = run([*logs("a" * 200, 3), *logs("\u202e" + "版" * 200, 3)])
    versions = ["a" * 200, "\u202e" + "版" * 200]
    text = end_comparison(open_run(str(output)), versions, (None, None), width).text
    lines = [line for line in text.splitlines() if not line.startswith("more:")]
    assert len(lines) >= 4 and max(map(columns, lines)) <= width and "\u202e" not in text


def test_an_evaluation_in_python_is_compared():
    rows = [row for version in ("v1", "v2") for row in logs(version, 3)]
    assert "\ndifference: v2 less v1; 3 pairs" in turnwise.evaluate(rows).summary
    alone = turnwise.evaluate(list(logs("v1", 3))).summary
    assert "difference" not in alone and "not compared" not in alone


def test_a_difference_of_milliseconds_is_not_shown_as_0():
    a = [0.002 + i / 1e5 for i in range(20)]
    b = [value + 0.0012 + i % 3 / 1e5 for i, value in enumerate(a)]
    found = compared({"turn_latency": a}, {"turn_latency": b})
    shown = criteria_table(found, 120)[1].split()
    assert shown[:8] == ["turn_latency", "0.0021", "s", "0.0033", "s", "20", "+0.0012", "s"]
    assert "+0.0012 s (+0.0012 to +0.0012 s)" in found.criteria[0].sentence
    (cost,) = compared({"agent_cost": a}, {"agent_cost": b}).criteria
    assert (cost.unit, cost.better_is, cost.overall.word) == ("money", "less", "worse")
    assert cost.quantiles and "+0.00121 (+0.00121 to +0.00121)" in cost.sentence


@pytest.mark.parametrize(
    "value, measure, unit, shown",
    [
        (0.004, "mean", "seconds", "0.0040 s"),
        (1.234, "mean", "seconds", "1.23 s"),
        (0.0149, "mean", "money", "0.0149"),
        (0.00000036, "mean", "money", "0.000000360"),
        (1.5, "mean", "money", "1.50"),
        (0.0, "mean", "money", "0.00"),
        (1e-17, "mean", "seconds", "0.000000 s"),
        (-0.0002, "mean", "score", "-0.00020"),
        (0.0002, "pass_rate", "score", "0.020 points"),
    ],
)
def test_as_many_decimals_as_a_figure_needs(value, measure, unit, shown):
    assert amount(value, measure, unit) == shown


def test_latencies_of_milliseconds_at_the_end_of_a_run():
    row = {"unit": "seconds", "criterion": "turn_latency", "mean": 0.0031, "pass_rate": None}
    row |= {"p50": 0.003, "p90": 0.0, "p99": 1.5, "app_version": "v1", "level": "turn"}
    row |= {"scored": 2, "no_score": 0}
    table = " ".join(version_table([row], ["turn_latency"], {}).split())
    assert "turn_latency 0.0031 s (p50 0.0030, p90 0.00, p99 1.50)" in table
    table = " ".join(version_table([{**row, "pass_rate": 0.45}], ["turn_latency"], {}).split())
    assert "turn_latency 45.0%" in table, "with a threshold, the share that passes"


def test_rates_of_the_pairs_that_both_sides_decide_say_so():
    for number in (25, 30):
        found = compared({"verdict": ["PASS"] * 30}, {"verdict": ["PASS"] * number + [None] * (30 - number)})
        assert f"100.0%  100.0%  {number} " in criteria_table(found, 120)[1]


@pytest.mark.parametrize("width", [80, 90, 100, 200])
def test_the_table_of_differences_keeps_both_versions(width):
    given = {"tool_effects_v1_of_long_name": ["PASS", "FAIL"] * 600}
    sides = [side(f"{name}-2025-04-14-fine-tuned-for-airlines", given) for name in "ab"]
    found = compare(*sides, CompareOptions())
    head, *rows = criteria_table(found, width)
    assert max(map(len, (head, *rows))) <= width and "p (Holm)" in head
    if width < 100:
        assert rows.pop() == "cases: 1,200", "whose column has no room"
    (name, *figures), names = " ".join(rows).split(), [*side_names(found)]
    assert name == "tool_effects_v1_of_long_name", "whole, on a line of its own where that is narrow"
    assert len(rows) == (2 if width == 80 else 1)
    assert figures[:3] == ["50.0%", "50.0%", "0.0" if width < 100 else "1,200"]
    shown = [] if width < 100 else head.split()[2:4]
    assert shown == ([] if width < 100 else names if width == 200 else ["baseline", "candidate"])


@pytest.mark.parametrize("stated", ["", "  ", None])
def test_an_empty_app_version_is_none(stated):
    sample = turnwise.Sample(
        Conversation(conversation_id="c", app_version=stated), None, Record("log", 1, b"")
    )
    assert sample.conversation.app_version is None
