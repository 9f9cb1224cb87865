"""`turnwise compare` through its own arguments, on runs of `turnwise run`."""

import gzip
import html
import json
import re
import shutil
import sqlite3
from base64 import b64decode
from contextlib import closing
from pathlib import Path

import pytest

from tests.pipeline.logs import write
from tests.tables import file_of, files_of
from turnwise.pipeline.cli.main import main

SHARED = Path(__file__).parents[4] / "shared" / "data"
TAU = SHARED / "tau2_airline_gpt-4.1_vs_ft.jsonl"
PAIRS = SHARED / "pairs_500"
FINE_TUNED = "ft:gpt-4.1-2025-04-14:sierra:tau2-full-sft:BzrYdMNm"
CONFIG = {"criteria": {"response_match_score": 0.8}}
SIDES = ("--baseline", "v1", "--candidate", "v2")


def log(number, version, answer="Hello", **fields):
    turn = {"user": f"Hi {number}", "agent": answer, "expected": {"response": "Hello"}}
    return {
        "conversation_id": f"{version}-{number}",
        "app_version": version,
        "eval_id": fields.pop("eval_id", None),
        "turns": [turn],
        **{key: value for key, value in fields.items() if value is not None},
    }


@pytest.fixture(scope="module")
def known():
    """Returns the directories of runs by what they scored."""
    return {}


@pytest.fixture
def scored(tmp_path, tmp_path_factory, known):
    """Scores logs and returns the output directory, which is a copy where the same was scored before."""

    def score(logs, name="out", config=CONFIG, *options):
        source, settings, output = (tmp_path / f"{name}{end}" for end in (".jsonl", ".json", ""))
        text, criteria = "".join(json.dumps(one) + "\n" for one in logs), json.dumps(config)
        if not options and (text, criteria) in known:
            return shutil.copytree(known[text, criteria], str(output))
        source.write_text(text)
        settings.write_text(criteria)
        command = ["run", "--input", str(source), "--config", str(settings), "--output", str(output)]
        assert main([*command, *options]) in (0, 1)
        if not options:
            known[text, criteria] = shutil.copytree(output, tmp_path_factory.mktemp("known") / "out")
        return str(output)

    return score


@pytest.fixture
def compared(turnwise):
    """Runs `turnwise compare` and returns status, output and errors."""
    return lambda *arguments: turnwise("compare", *arguments)[:3]


def criterion(text, name):
    return next(own for own in json.loads(text)["criteria"] if own["criterion"] == name)


@pytest.mark.skipif(not TAU.exists(), reason=f"{TAU} is absent")
def test_base_against_fine_tuned_by_the_recorded_reward(tmp_path, compared):
    output = str(tmp_path / "out")
    assert main(["run", "--input", str(TAU), "--output", output]) == 0
    status, text, _ = compared(output, "--baseline", "gpt-4.1", "--candidate", FINE_TUNED, "--format", "json")
    found = criterion(text, "recorded_reward")
    assert status == 0 and json.loads(text)["pairing"]["by"] == "eval_id"
    assert (found["overall"]["baseline_value"], found["overall"]["candidate_value"]) == (10 / 20, 13 / 20)
    assert (found["fixed"], found["regressed"], found["overall"]["word"]) == (6, 3, "inconclusive")
    assert found["overall"]["p"] == pytest.approx(0.508, abs=5e-4)


@pytest.mark.skipif(not PAIRS.exists(), reason=f"{PAIRS} is absent")
def test_500_pairs(tmp_path, compared):
    output = str(tmp_path / "out")
    inputs = ["--input", str(PAIRS / "logs.jsonl"), "--eval_cases", str(PAIRS / "cases.jsonl")]
    config = json.loads((PAIRS / "config.json").read_text())
    config["tools"] = {"do_address": "write", "do_invoice": "write"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert main(["run", *inputs, "--config", str(tmp_path / "config.json"), "--output", output]) == 0
    status, text, _ = compared(output, *SIDES, "--format", "json")
    found = criterion(text, "tool_effects_v1")
    overall = found["overall"]
    assert status == 0
    assert (found["fixed"], found["regressed"], overall["word"]) == (84, 73, "inconclusive")
    assert overall["difference"] == pytest.approx(0.022) and overall["p"] == pytest.approx(0.425, abs=1e-3)
    assert overall["detectable"] == pytest.approx(0.0697, abs=1e-3) and overall["pairs_needed"] == 5085
    assert [own for own in json.loads(text)["slices"] if own["stands_out"]] == []


BAD = "No, not at all, never"


def versions(size, bad=0):
    """Logs of two versions; the first answers of v2 are bad."""
    answers = {"v1": ["Hello"] * size, "v2": [BAD] * bad + ["Hello"] * (size - bad)}
    return [log(i, v, own, eval_id=f"e{i}") for v in answers for i, own in enumerate(answers[v])]


@pytest.mark.parametrize(
    "bad, fail_on, status", [(10, "worse", 1), (0, "worse", 0), (0, "not_noninferior", 1)]
)
def test_the_exit_status(scored, compared, bad, fail_on, status):
    """30 pairs that all agree do not show that a version is not worse."""
    output = scored(versions(30, bad))
    found, text, errors = compared(output, *SIDES, "--fail_on", fail_on)
    assert found == status
    assert ("turnwise: verdict: " in errors) is bool(status)
    assert ("v2 is worse than v1" in text) is bool(bad)


ALL = {"criteria": {"response_match_score": 0.8}, "slices": ["language", "plan"]}


def test_an_unknown_slice_is_refused_with_the_known_ones(scored, compared):
    logs = [one | {"language": "ko", "tags": ["plan:gold"]} for one in versions(8)]
    output = scored(logs)
    status, text, errors = compared(output, *SIDES, "--slices", "plan", "nosuch")
    assert (status, text) == (2, "")
    assert errors == "turnwise: --slices nosuch: no conversation has one (there are: language, plan, tag)\n"
    assert compared(output, *SIDES, "--slices", "language", "plan", "tag")[0] == 0
    for one in logs[::2]:
        call = {"name": "look", "id": "l", "agent": "billing"}
        one["turns"] = [{**turn, "tool_calls": [call]} for turn in one["turns"]]
    status, text, _ = compared(scored(logs, "agents"), *SIDES, "--slices", "agent", "--format", "json")
    assert status == 0 and {one["slice"] for one in json.loads(text)["slices"]} == {"agent:billing"}
    plain = scored(versions(8), "plain", ALL)
    assert compared(plain, *SIDES)[0] == 0, "a config's slice may be absent"
    assert compared(plain, *SIDES, "--slices", "plan")[2].endswith("(there are: none)\n")


BROKEN = {"conversation_id": "broken", "turns": []}


def test_a_run_that_failed_or_rejected_records_is_named_first(scored, compared):
    logs = versions(30)
    one = scored(logs[:30], "one")
    other = scored([*logs[30:], BROKEN], "other", CONFIG, "--max_failure_ratio", "0.01")
    status, text, errors = compared(one, other)
    head = " ".join(text.split("30 pairs")[0].split())
    assert status == 0 and errors == ""
    assert "/other; the run failed: 1 of 31" in head and "no verdict 0, rejected 1" in head
    assert " ".join(text.split()).count("that were rejected, not in the figures: 1") == 1
    assert "/one candidate v2:" in head
    candidate = json.loads(compared(one, other, "--format", "json")[1])["candidate"]
    assert candidate["rejected"] == len(candidate["problems"]) == 1
    assert compared(other, scored(logs[:30], "third"), "--fail_on", "worse")[0] == 1


def test_a_run_that_failed_does_not_pass(scored, compared):
    logs = versions(30)
    one, other = scored(logs[:30], "one"), scored(logs[30:], "other")
    path = Path(other) / "run.json"
    document = json.loads(path.read_text(encoding="utf-8")) | {"exit_status": 1}
    for problems, status in (([], 0), (["gate: all_pass: failed"], 0), (["disk full"], 1)):
        path.write_text(json.dumps(document | {"problems": problems, "exit_status": int(bool(problems))}))
        found, _, errors = compared(one, other, "--fail_on", "worse")
        assert found == status and ("the run failed: " in errors) is bool(status)


def test_what_was_not_measured_does_not_pass(scored, compared):
    """Cases without a conversation in B, conversations without an id, and rejected records."""
    base, fewer, full = versions(300)[:300], versions(300)[310:], versions(300)[300:]
    a = scored(base, "a")
    for name, logs, said in (
        ("fewer", fewer, "10 cases of v1 without a conversation of v2: e0, e1, e2, e3, e4 and 5 more"),
        ("rejected", [*full, BROKEN], "/rejected: 1 records or conversations were rejected"),
    ):
        b = scored(logs, name)
        for fail_on in ("worse", "not_noninferior"):
            status, text, errors = compared(a, b, "--fail_on", fail_on)
            assert status == 1 and said in errors and len(errors.splitlines()) == 1, text
    assert compared(scored(fewer, "less"), a, "--fail_on", "not_noninferior")[0] == 0, "cases may be new"
    plain = {"conversation_id": "c", "app_version": "v1", "turns": [{"user": "Hi", "agent": "Hello"}]}
    unnamed = scored([*base, plain], "unnamed")
    _, _, errors = compared(unnamed, scored(full, "full"), "--fail_on", "worse")
    assert "1 conversation of v1 without eval_id: compared with nothing" in errors


def test_cases_whose_expectation_changed_are_left_out(scored, compared):
    logs = versions(40, 20)
    for one in logs[40:60]:
        one["turns"][0]["expected"] = {"response": BAD}
    output = scored(logs)
    status, text, errors = compared(output, "--fail_on", "worse")
    assert "20 pairs by eval_id" in text and "20 cases left out, whose expectation differs" in text
    assert "not the same in baseline and candidate: e0, e1, e10, e11, e12 and " in " ".join(text.split())
    assert status == 1 and "20 cases left out, whose expectation differs: e0, e1, e10" in errors
    _, text, _ = compared(output, *SIDES, "--format", "json")
    pairing = json.loads(text)["pairing"]
    assert (pairing["pairs"], pairing["changed"], len(pairing["changed_names"])) == (20, 20, 20)
    assert (pairing["baseline_only"], pairing["candidate_only"]) == (0, 0)
    assert {flip["case"] for flip in json.loads(text)["flips"]} == set()


def test_two_directories_and_their_files(scored, compared, tmp_path):
    logs = versions(30, 10)
    one, other = scored(logs[:30], "one"), scored(logs[30:], "other")
    status, text, _ = compared(one, other, "--output", str(tmp_path / "found"))
    assert status == 0 and "30 pairs by eval_id" in text and "regressed e0 (" in text
    document = json.loads((tmp_path / "found" / "compare.json").read_text())
    assert (document["baseline"]["source"], document["candidate"]["source"]) == (one, other)
    assert [flip["case"] for flip in document["flips"]][:2] == ["e0", "e1"]
    assert "below the threshold" in document["flips"][0]["reason"]
    lines = (tmp_path / "found" / "compare.md").read_text().splitlines()
    assert lines[0] == "## v2 against v1" and lines[2].startswith("**v2 is worse than v1: 66.7% pass ")
    assert lines[4] == "regressed 10, fixed 0, still failing 0, no verdict 0, rejected 0"
    assert sum(line.endswith(" | regressed |") for line in lines) == 3, "of one problem type"
    assert "7 more cases regressed or have no verdict any more: the details below list" in " ".join(lines)
    changed = lines[lines.index("| 10 changed cases | case | changes |") :]
    assert sum(line.endswith(" | regressed: verdict, response_match_score |") for line in changed) == 10
    assert "| verdict | 100.0% | 66.7% | 30 | -33.3 pt (-52.8 to -15.2) | 0.002 | worse |" in lines


def test_a_comment_has_one_row_a_case_and_its_verdict_in_the_column_verdict(scored, compared, tmp_path):
    # The first case fails in both: it said the wrong thing before, and makes the wrong call now.
    call = {"name": "get_order", "args": {"id": "1"}}
    logs = [log(i, v, "Hello", eval_id=f"e{i}") for v in ("v1", "v2") for i in range(4)]
    for i, one in enumerate(logs):
        turn = one["turns"][0]
        turn["expected"] |= {"tool_calls": [call]}
        turn["tool_calls"] = [{**call, "name": "list_orders"}] if i in (4, 5) else [call]
    logs[0]["turns"][0]["agent"] = BAD
    config = {"criteria": {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8},
              "gate": {"primary": ["tool_trajectory_avg_score"]}}  # fmt: skip
    output = scored(logs, config=config)
    compared(output, *SIDES, "--output", str(tmp_path / "found"))
    lines = (tmp_path / "found" / "compare.md").read_text().splitlines()
    listed = [line for line in lines if line.endswith((" | failing |", " | regressed |"))]
    (both,) = [line for line in listed if "| e0 |" in line]
    assert both.startswith("| regressed: tool_trajectory_avg_score; ") and both.endswith(" | failing |")
    assert [line.endswith(" | regressed |") for line in listed if "| e1 |" in line] == [True]
    changed = lines[lines.index("| 2 changed cases | case | changes |") + 2 :][:2]
    assert changed[0].endswith(" | e1 | regressed: verdict, tool_trajectory_avg_score |"), changed
    assert changed[1].endswith(" | e0 | regressed: tool_trajectory_avg_score; fixed: response_match_score |")


@pytest.mark.parametrize("width", [20, 44, 60, 72, 80])
def test_the_report_fits_the_terminal(scored, compared, monkeypatch, width):
    output = scored(versions(12, 5))
    monkeypatch.setenv("COLUMNS", str(width))
    _, text, _ = compared(output, *SIDES)
    long = [line for line in text.splitlines() if len(line) > width]
    assert [line for line in long if " " in line.strip()] == [], "only a word that is longer than a line"
    figures = "100.0%", "58.3%", "-41.7 pt", "(-72.3 to -8.7)"
    assert [figure for figure in figures if figure not in " ".join(text.split())] == []


def test_what_is_written_by_strangers_is_escaped(scored, compared, tmp_path):
    evil = "\x1b[31m<img src=x>|@all"
    logs = [log(i, v, BAD if v == evil else "Hello", eval_id=f"e{i}") for v in ("v1", evil) for i in range(9)]
    output = scored(logs)
    _, text, _ = compared(output, *SIDES[:3], evil, "--output", str(tmp_path / "found"))
    markdown = (tmp_path / "found" / "compare.md").read_text()
    assert "\x1b" not in text + markdown and "<img" not in markdown and "@all" not in markdown
    assert "<img src=x>|@all" in re.sub("</?code>", "", html.unescape(markdown))


SETTINGS = [
    (
        {"criteria": {"response_match_score": 0.5}},
        "criteria.response_match_score.threshold (0.8 for v1, 0.5 for v2); score the logs of one of them",
    ),
    ({**CONFIG, "adk_compat": True}, "adk_compat (false for v1, true for v2)"),
]


@pytest.mark.parametrize("config, message", SETTINGS)
def test_scoring_settings_that_changed_are_refused(scored, compared, config, message):
    logs = versions(9, 3)
    one, other = scored(logs[:9], "one"), scored(logs[9:], "other", config)
    status, text, errors = compared(one, other)
    assert (status, text) == (2, "") and message in errors and "--allow_different_judges" in errors
    assert errors.count("\n") == 1
    status, text, _ = compared(one, other, "--allow_different_judges")
    assert status == 0 and "note: the scoring settings changed: " in text


@pytest.mark.parametrize(
    "changes",
    [
        [{}, {"slices": ["language"], "judge": {"max_calls": 7}}],
        # How many are judged, and not how.
        [
            {"criteria": {**CONFIG["criteria"], "hallucinations_v1": {"threshold": 0.5, "sample_rate": rate}}}
            for rate in (1.0, 0.5)
        ],
    ],
)
def test_settings_that_measure_nothing_may_differ(scored, compared, changes):
    logs, (first, second) = versions(9, 3), [CONFIG | own for own in changes]
    judge = ("--judge", "local")
    outputs = scored(logs[:9], "one", first, *judge), scored(logs[9:], "other", second, *judge)
    status, text, errors = compared(*outputs)
    assert (status, errors) == (0, "") and "the scoring settings changed" not in text


def test_another_prompt_version_is_refused(scored, compared):
    logs = versions(4)
    outputs = [scored(logs[:4], "one"), scored(logs[4:], "other")]

    def judged_by(output, prompt):
        judge = {"model": "m", "prompt_version": prompt, "samples": 1}
        path = files_of(Path(output), "scores")[0]
        rows = [json.loads(line) | {"judge": judge} for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    judged_by(outputs[0], "p/1")
    judged_by(outputs[1], "p/1")
    assert compared(*outputs)[0] == 0
    judged_by(outputs[1], "p/2")
    status, _, errors = compared(*outputs)
    assert status == 2 and "judge model, prompt version (m, p/1 for v1, m, p/2 for v2)" in errors


V = ("v1", "v2")
BY = (*SIDES, "--by")
ERRORS = [
    (lambda scored: [], "name one or two output directories of runs, or --store"),
    (lambda scored: ["/no/such"], "/no/such: is no output directory of a run"),
    (lambda scored: [scored([log(1, "v1")])], "holds one app version, v1; name a second directory"),
    (lambda scored: [scored([log(1, "v1"), log(1, None)])], "holds 2 app versions; name one by --baseline"),
    (lambda scored: [scored(versions(2)), *SIDES[:3], "v9"], "--candidate v9: is no app version"),
    (lambda scored: [scored([log(1, v) for v in V]), *BY, "eval_id"], "--by eval_id: no case of v1 is in v2"),
    (lambda scored: ["/a", "--alpha", "1"], "--alpha 1: must be between 1e-09 and 1"),
    (lambda scored: ["--store", "sqlite:////no/such"], "--store: name both sides, by --baseline and"),
    (lambda scored: ["--store", "sqlite:////no/such", *SIDES], "no such store"),
    (lambda scored: ["--store", "bigquery://p/d", *SIDES], "--store bigquery://p/d: is no URL of a store ("),
]


@pytest.mark.parametrize("arguments, message", ERRORS)
def test_errors_are_one_line_with_exit_status_2(scored, compared, arguments, message):
    status, text, errors = compared(*arguments(scored))
    assert (status, text) == (2, "") and message in errors and errors.count("\n") == 1


def test_trials_of_unequal_number_and_missing_rewards(scored, compared):
    """Rewards that the log does not give are missing, and neither a pass nor a fail."""
    logs = [
        {
            **log(f"{task}-{trial}", version),
            "meta": {"task_id": str(task), "trial": trial},
            "labels": {"reward": None if version == "v2" and task < 3 else 1.0, "rated_by": "bench"},
        }
        for version, trials in (("v1", 2), ("v2", 3))
        for task in range(10)
        for trial in range(trials)
    ]
    output = scored(logs, "out", {"criteria": {"recorded_reward": {}}})
    status, text, _ = compared(output, *SIDES, "--format", "json")
    found = criterion(text, "recorded_reward")
    overall, missing = found["overall"], found["missing"]
    assert (status, overall["pairs"], found["baseline_only"], missing["candidate_missing"]) == (0, 7, 3, 9)
    assert overall["word"] == "inconclusive" and missing["worst_for_candidate"]["difference"] < -0.2
    document = json.loads(text)
    assert document["pairing"]["by"] == "eval_id" and document["baseline"]["repeated_cases"] == 10


def test_conversations_with_the_same_id_are_not_merged(scored, compared):
    logs = [{**log(0, v), "conversation_id": "c", "eval_id": None} for v in ("v1", "v2") for _ in range(4)]
    logs[1]["turns"][0]["agent"] = BAD
    _, text, _ = compared(scored(logs), *SIDES, "--format", "json")
    document = json.loads(text)
    assert (document["baseline"]["conversations"], document["baseline"]["failed"]) == (4, 1)
    assert document["criteria"][0]["overall"]["baseline_value"] == 0.75


def test_a_criterion_that_one_run_did_not_measure_does_not_pass(scored, compared):
    logs = versions(9)
    more = {"criteria": {**CONFIG["criteria"], "turn_latency": {}, "final_response_match_v2": 0.5}}
    one, other = scored(logs[:9], "one", more), scored(logs[9:], "other")
    status, _, errors = compared(one, other, "--fail_on", "worse")
    assert status == 1 and "final_response_match_v2: not compared: v2 has no score of it" in errors


def test_versions_and_runs_of_a_store(scored, compared, tmp_path):
    store, app = f"sqlite:///{tmp_path / 'store.db'}", "projects/p/locations/l/apps/a"
    places = ["--store", store, "--store_app", app]
    turns = [{"user": f"Hi {i}", "response": "Hello"} for i in range(9)]
    golden = write(
        tmp_path / "cases.jsonl", *({"eval_id": f"e{i}", "turns": [t]} for i, t in enumerate(turns))
    )
    logs = versions(9, 6)
    for one in logs:
        del one["turns"][0]["expected"]
    scored(logs, "out", CONFIG, "--eval_cases", str(golden), *places, "--run_id", "first")
    status, text, _ = compared("--store", store, *SIDES, "--format", "json")
    document = json.loads(text)
    assert status == 0 and document["pairing"]["by"] == "eval_id" and document["pairing"]["pairs"] == 9
    assert (document["word"], document["criteria"][0]["regressed"]) == ("worse", 6)
    assert [own["criterion"] for own in document["criteria"]] == ["verdict", "response_match_score"]
    assert "below the threshold" in document["flips"][-1]["reason"]
    status, _, errors = compared("--store", store, *SIDES[:3], "v3")
    assert status == 2 and "no result of this version or run (versions: v1, v2; runs: first)" in errors
    assert compared("--store", store, "--app", f"{app}b", *SIDES)[0] == 2


def test_copies_of_goldens_without_a_name_are_one_case(scored, compared, tmp_path, capsys):
    """Four texts, each recorded ten times by both versions; compared (files and store), gated, reported."""
    logs = [
        log(number % 4, version, BAD if number % 5 == 0 and version == "v2" else "Hello")
        | {"eval_id": None, "conversation_id": f"c{number}"}
        for version in ("v1", "v2")
        for number in range(40)
    ]
    gate = {"rules": [{"rule": "bound", "criterion": "verdict", "side": "lower", "at_least": 0.8}]}
    store = ["--store", f"sqlite:///{tmp_path / 'store.db'}"]
    output = scored(logs, "out", CONFIG | {"gate": gate}, *store)
    for where in ([output], store):
        found = json.loads(compared(*where, *SIDES, "--format", "json")[1])
        assert (found["pairing"]["by"], found["pairing"]["pairs"]) == ("task", 4)
        assert (found["baseline"]["conversations"], found["baseline"]["cases"]) == (40, 4)
        assert found["word"] == "inconclusive"
        by_id = compared(*where, *SIDES, "--by", "conversation_id", "--format", "json")[1]
        assert json.loads(by_id)["pairing"]["pairs"] == 40
    capsys.readouterr()
    assert main(["gate", output]) == 1
    assert "(v1): failed: 100.0% by case (51.0% to 100.0%), 4 cases" in capsys.readouterr().err
    assert main(["report", output]) == 0
    page = re.search(r'id="report">([^<]*)<', Path(output, "report.html").read_text("utf-8"))
    verdicts = json.loads(gzip.decompress(b64decode(page[1])))["criteria"][0]
    assert [round(100 * figure["low"], 2) for figure in verdicts["figures"][:1]] == [51.01]


def test_a_store_says_what_a_directory_says(scored, compared, tmp_path):
    """Also of its slices, turns, flips and their reasons."""
    store = ["--store", f"sqlite:///{tmp_path / 'store.db'}"]
    more = {"criteria": {**CONFIG["criteria"], "tool_trajectory_avg_score": 1.0, "turn_latency": {}}}
    logs = [
        one
        | {"language": "ko" if number % 3 else "en", "tags": ["plan:gold"] if number % 2 else []}
        | {"turns": [turn | {"latency_ms": 100 * number + 1} for turn in one["turns"] * (1 + number % 2)]}
        for number, one in enumerate(versions(24, 9))
    ]
    output = scored(logs, "out", more, *store, "--run_id", "first")
    wanted = [*SIDES, "--slices", "language", "plan", "--format", "json"]
    of_files, of_store = (json.loads(compared(*where, *wanted)[1]) for where in ([output], store))
    assert of_files["slices"] and of_files["flips"][0]["reason"]
    assert all(any(own[part] for own in of_files["criteria"]) for part in ("quantiles", "turns"))
    for document in (of_files, of_store):
        # A store holds why a conversation is to be read in place of why its verdict is what it is.
        document["flips"] = [own for own in document["flips"] if own["criterion"] != "verdict"]
    by_name = [
        {own["criterion"]: own for own in document.pop("criteria")} for document in (of_files, of_store)
    ]
    assert by_name[0] == by_name[1]
    for part in ("pairing", "slices", "flips", "word"):
        assert of_store[part] == of_files[part]


@pytest.mark.parametrize("names_task", [True, False])
def test_conversations_without_eval_ids(scored, compared, names_task):
    """They are paired by the task that the log names; where it names none, two groups are compared."""
    logs = [
        {
            "conversation_id": f"{version}-{task}",
            "app_version": version,
            "turns": [{"user": "Hi", "agent": "Hello"}],
            "labels": {"reward": float(version == "v2" or task > 7)},
            "meta": {"task_id": task, "domain": "shop"} if names_task else {},
        }
        for version in ("v1", "v2")
        for task in range(12 if version == "v1" else 10)
    ]
    output = scored(logs, "out", {"criteria": {"recorded_reward": {}}})
    status, text, _ = compared(output, *SIDES, "--format", "json")
    document, found = json.loads(text), criterion(text, "recorded_reward")
    assert status == 0 and found["overall"]["word"] == "better"
    assert document["pairing"]["by"] == ("task" if names_task else "nothing")
    assert document["pairing"]["pairs"] == (10 if names_task else 0)
    assert document["pairing"]["baseline_only_names"] == (["shop-10", "shop-11"] if names_task else [])
    assert (found["fixed"], found["overall"]["baseline_count"]) == ((8, 10) if names_task else (None, 12))
    verdict = criterion(text, "verdict")
    assert verdict["overall"]["word"] == "inconclusive" and verdict["overall"]["difference"] is None


@pytest.mark.parametrize("version, message", [(17, "has tables of version 17"), (0, "the store is empty")])
def test_a_store_that_cannot_be_compared_is_no_worse_version(compared, tmp_path, version, message):
    path = tmp_path / "store.db"
    path.touch()
    if version:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"CREATE TABLE turnwise_store_version AS SELECT {version} AS version")
    status, text, errors = compared("--store", f"sqlite:///{path}", *SIDES)
    assert (status, text) == (2, "") and message in errors and errors.count("\n") == 1


def test_verdicts_of_different_criteria_are_not_compared(scored, compared):
    """Dropping the criterion that fails makes no version better."""
    logs, both = versions(30), {"criteria": {"response_match_score": 0.8, "tool_trajectory_avg_score": 1.0}}
    one = scored(logs[:30], "one", both)
    other = scored(logs[30:], "other")
    status, text, errors = compared(one, other, "--format", "json", "--fail_on", "worse")
    found = json.loads(text)
    assert status == 1 and [own["criterion"] for own in found["criteria"]] == ["response_match_score"]
    assert found["not_compared"]["verdict"] in errors and "tool_trajectory_avg_score" in errors
    _, text, _ = compared(one, other, "--format", "json", "--allow_different_judges")
    assert criterion(text, "verdict")["overall"]["pairs"] == 30


RAISES = """
import turnwise


class RaisesOnNever(turnwise.MeasuredCriterion):
    '''Raises an error on some answers.

    When to use: in tests.
    '''

    name = "raises_on_never"

    def score(self, sample, pair):
        if "never" in pair.actual.agent:
            raise RuntimeError("no")
        return turnwise.Score(1.0)
"""


@pytest.mark.usefixtures("unchanged")
def test_errors_of_a_criterion_do_not_pass(scored, compared, tmp_path):
    """A criterion that raised on half of the conversations of B is missing there."""
    plugin = tmp_path / "raises_on_never.py"
    plugin.write_text(RAISES)
    logs, config = versions(300, 150), {"criteria": {"raises_on_never": {"threshold": 0.0}}}
    one, other = (
        scored(own, name, config, "--plugin", str(plugin))
        for own, name in ((logs[:300], "one"), (logs[300:], "other"))
    )
    for fail_on in ("worse", "not_noninferior"):
        status, text, errors = compared(one, other, "--format", "json", "--fail_on", fail_on)
        assert status == 1 and "raises_on_never: v2 against v1 is inconclusive" in errors
    found = criterion(text, "raises_on_never")
    assert (found["missing"]["baseline_missing"], found["missing"]["candidate_missing"]) == (0, 150)
    reasons = {flip["reason"] for flip in json.loads(text)["flips"] if flip["criterion"] == "raises_on_never"}
    assert all(reason.startswith("raised an error: ") for reason in reasons) and reasons


def test_runs_without_a_common_criterion_are_refused_in_one_line(scored, compared):
    logs = versions(3)
    one = scored(logs[:3], "one")
    other = scored(logs[3:], "other", {"criteria": {"tool_trajectory_avg_score": 1.0}})
    for more in ((), ("--format", "json")):
        status, text, errors = compared(one, other, *more)
        assert (status, text, errors.count("\n")) == (2, "", 1)
        assert "nothing to compare" in errors and "response_match_score: v2 has no score of it" in errors


def test_results_that_are_missing_are_found(scored, turnwise, tmp_path):
    output = scored(versions(3))
    table = file_of(Path(output), "results")
    table.write_text("".join(table.read_text().splitlines(keepends=True)[:3]))
    config = write(
        tmp_path / "gate.json", {**CONFIG, "gate": {"rules": [{"rule": "coverage", "at_least": 0}]}}
    )
    for command in (["compare", output, *SIDES], ["gate", output, "--config", config]):
        done = turnwise(*command)
        assert done.status == 2 and f"{table.name}: holds 3 rows, and run.json counts 6" in done.err
