"""`turnwise gate`: exit status, messages and the three reports."""

import html
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.gating.conftest import CRITERIA, WriteRun, calibration, conversation, failure, score
from tests.pipeline.logs import write
from turnwise.pipeline.cli.main import main

Gate = Callable[..., tuple[int, str, str]]
P, F, U = "PASS", "FAIL", None


@pytest.fixture
def gate(turnwise: Any) -> Gate:
    return lambda *arguments: turnwise("gate", *arguments)[:3]


def rules(*found: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"gate": {"rules": list(found), **more}}


def rows(*verdicts: str | None, **more: Any) -> list[dict[str, Any]]:
    return [conversation(f"c{i}", verdict, **more) for i, verdict in enumerate(verdicts)]


ALL_PASS = {"rule": "bound", "criterion": "verdict", "side": "estimate", "at_least": 1.0}


@pytest.mark.parametrize(
    ("verdicts", "status", "word"),
    [([P, P], 0, "passed"), ([P, F], 1, "failed"), ([P, U], 1, "inconclusive")],
)
def test_the_status_is_that_of_the_rules(write_run, gate, verdicts, status, word):
    run = write_run("out", rows(*verdicts), config=rules(ALL_PASS))
    found, out, err = gate(run)
    assert found == status and out.endswith(f"gate: {word}, 1 rule\n")
    assert (err == "") == (status == 0)
    if status:
        assert err.startswith(f"turnwise: verdict: pass rate at least 100% (v1): {word}: ")
        assert err.endswith(": c1\n")


@pytest.mark.parametrize(
    ("second", "status", "names"),
    [
        ([score("c1", P)], 0, ""),
        ([score("c1", "SKIPPED")], 1, "c1"),
        ([score("c1", None)], 1, "c1"),
        ([score("c1", P, turn_index=0), score("c1", "SKIPPED")], 1, "c1"),
        # A turn that is skipped says nothing against the conversation.
        ([score("c1", "SKIPPED", turn_index=0), score("c1", P)], 0, ""),
    ],
)
def test_what_is_skipped_or_unscored_does_not_all_pass(write_run, gate, second, status, names):
    rule = {"rule": "all_pass", "criterion": "tool_trajectory_avg_score"}
    run = write_run("out", rows(P, P), [score("c0", P), *second], config=rules(rule))
    found, _, err = gate(run)
    assert found == status and err.count(f"inconclusive: 0 failed, 1 without an outcome: {names}") == status


def test_a_gate_of_primary_criteria_alone_says_what_is_missing(write_run, gate):
    found, _, err = gate(write_run("out", rows(P), config=rules(primary=["verdict"])))
    assert found == 2 and "`primary` (verdict) alone decides nothing: add `rules`" in err


def test_a_bound_uses_the_figure_that_labels_correct(write_run, gate, tmp_path):
    rule = {"rule": "bound", "criterion": "verdict", "side": "lower", "at_least": 0.6}
    run = write_run("out", rows(*[P] * 60), config=rules(rule))
    assert gate(run)[0] == 0
    (run / "calibration.json").write_bytes(calibration("out", 0.7, (0.55, 0.8)))
    path = tmp_path / "a.json"
    status, _, err = gate(run, "--json", path)
    assert status == 1
    assert "70.0% (55.0% to 80.0%), 60 cases; corrected by 20 labels of people, 100.0% by the scores\n" in err
    (found,) = json.loads(path.read_text())["rules"]
    assert (found["value"], found["interval"]) == (0.55, {"low": 0.55, "high": 0.8})


def test_the_problems_of_the_run_fail_it_but_for_those_of_its_rules(write_run, gate):
    for problem, ended in (
        ("gate: no baseline is named", (0, "")),
        ("the counts do not add up", (1, "turnwise: the counts do not add up\n")),
    ):
        about = {"config": rules(ALL_PASS), "problems": [problem], "exit_status": 1}
        assert gate(write_run(problem[:3], rows(P), **about))[::2] == ended


def test_the_last_revision_of_a_conversation_counts(write_run, gate):
    found = [conversation("c0", F), conversation("c0", P, revision=1)]
    scores = [score("c0", F), score("c0", P, revision=1)]
    trajectory = {**ALL_PASS, "criterion": TRAJECTORY}
    assert gate(write_run("out", found, scores, config=rules(ALL_PASS, trajectory)))[0] == 0


def test_rules_of_another_config_go_before(write_run, gate, tmp_path):
    run = write_run("out", rows(P, F))
    assert gate(run)[0] == 0
    path = tmp_path / "gate.json"
    path.write_text(json.dumps(rules(ALL_PASS)))
    assert gate(run, "--config", path)[0] == 1


NOT_WORSE = {"rule": "not_worse", "margin": 0.02}


def test_a_baseline_decides_whether_it_is_worse(write_run, gate):
    config = rules(NOT_WORSE)
    base = write_run("base", rows(*[P] * 60), config=config)
    same = write_run("same", rows(*[P] * 60, app_version="v2"), config=config)
    worse = write_run("worse", rows(*[P] * 20, *[F] * 40, app_version="v2"), config=config)
    fewer = write_run("fewer", rows(*[P] * 30, app_version="v2"), config=config)
    assert gate(same)[0] == 1, "a baseline that is not named is no pass"
    status, _, err = gate(worse, "--baseline", base)
    assert status == 1 and "(v2): failed: -66.7 points" in err and "worse, 60 cases" in err
    status, _, err = gate(fewer, "--baseline", base)
    assert status == 1 and "30 cases of the baseline have no conversation here" in err
    # 60 equal pairs show that at most about 6 points were rejected.
    status, _, err = gate(same, "--baseline", base)
    assert status == 1 and "inconclusive: 0.0 points" in err
    wide = write_run("wide", rows(*[P] * 60, app_version="v2"), config=rules({**NOT_WORSE, "margin": 0.1}))
    assert gate(wide, "--baseline", base)[0] == 0


def test_a_baseline_of_the_same_run(write_run, gate):
    both = rows(*[P] * 60) + [conversation(f"c{i}", P, app_version="v2") for i in range(60)]
    run = write_run("out", both, config=rules({**NOT_WORSE, "margin": 0.1}))
    assert gate(run, "--baseline", "v1", "--candidate", "v2")[0] == 0
    assert gate(run)[0] == 1


TRAJECTORY = "tool_trajectory_avg_score"
HALF = {"rule": "coverage", "at_least": 0.4}
MANY = rows(*[P] * 60)
NEWER = rows(*[P] * 60, app_version="v2")


def test_what_was_lost_may_have_been_destructive_or_a_failure(write_run, gate):
    destructive, rejected = {"rule": "no_destructive_calls"}, {"counts": {"rejected_records": 60}}
    wide = {**NOT_WORSE, "margin": 0.1}
    base = write_run("base", MANY)
    for name, own, status in (("open", [], 1), ("allowed", [HALF], 0)):
        run = write_run(name, NEWER, config=rules(wide, destructive, *own), **rejected)
        found, out, err = gate(run, "--baseline", base)
        assert found == status and ("60 records rejected" in err) == (status == 1), out + err
        assert err.count("inconclusive: ") == 2 * status
    more = write_run("more", NEWER, config=rules(wide, {**HALF, "at_least": 0.6}), **rejected)
    assert gate(more, "--baseline", base)[0] == 1
    other = rows(*[F] * 60, app_version="v2")
    worse = write_run("worse", other, config=rules(wide), counts={"rejected_records": 1})
    assert "(v2): failed: -100.0 points" in gate(worse, "--baseline", base)[2]


def test_a_criterion_without_a_value_here_is_no_pass(write_run, gate, tmp_path, capsys):
    rule = {**NOT_WORSE, "margin": 0.1, "criterion": TRAJECTORY}
    base = write_run("base", MANY, config=rules(rule))
    half = [score(f"c{i}", P, app_version="v2") for i in range(30)]
    raised = {"stage": "score", "criterion": TRAJECTORY}
    lines = [failure("no such key", **raised, conversation_id=f"c{i}") for i in range(30, 60)]
    told = "0 conversations of the baseline and 30 of the candidate have no score"
    for name, failures in (("absent", []), ("raised", lines)):
        run = write_run(name, NEWER, half, failures, config=rules(rule), counts={})
        status, _, err = gate(run, "--baseline", base)
        assert status == 1 and told in err, err
    most = [score(f"c{i}", P, app_version="v2") for i in range(59)]
    near = write_run("near", NEWER, most, config=rules({**rule, "margin": 0.2}))
    assert gate(near, "--baseline", base)[0] == 0, "one that fails would not be too many"
    none = write_run("none", NEWER, [], config=rules(rule), counts={})
    path = tmp_path / "gate.json"
    status, _, err = gate(none, "--baseline", base, "--json", path)
    assert status == 1 and "10% of its scale (v2): inconclusive: not compared: v2 has no score of it" in err
    assert main(["compare", str(base), str(none), "--format", "json"]) == 0
    held, compared = json.loads(path.read_bytes())["comparison"], json.loads(capsys.readouterr().out)
    for part in ("criteria", "not_compared", "flips", "notes"):
        assert held[part] == compared[part], "the gate holds what the comparison says"
    assert compared["not_compared"] == {TRAJECTORY: "v2 has no score of it"}


@pytest.mark.parametrize("more", [(), (HALF,)])
def test_a_baseline_of_other_cases_decides_nothing(write_run, gate, tmp_path, more):
    base = write_run("base", [conversation(f"d{i}", P) for i in range(300)])
    run = write_run("out", NEWER, config=rules({**NOT_WORSE, "margin": 0.9}, *more))
    files = {name: tmp_path / name for name in ("junit", "markdown", "json")}
    options = [word for name, path in files.items() for word in (f"--{name}", path)]
    status, _, err = gate(run, "--baseline", base, *options)
    text = "nothing pairs: 300 cases of the baseline have no conversation in the run"
    assert status == 1 and text in err
    for path in files.values():
        assert text in html.unescape(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("document", "status", "text"),
    [
        ({"problems": ["300 of 600 records failed"], "exit_status": 1}, 1, "failed: 300 of 600 records"),
        ({"problems": [], "exit_status": 1}, 1, "the baseline itself failed: it ended with exit status 1"),
        ({"counts": {"rejected_records": 9}}, 1, "9 were not measured in the baseline (9 records rejected)"),
        ({"problems": ["gate: no baseline is named"], "exit_status": 1}, 0, ""),
        ({"counts": {"unused_cases": 9}}, 0, ""),
    ],
)
def test_a_baseline_that_failed_itself_is_no_measure(write_run, gate, document, status, text):
    base = write_run("base", MANY, **document)
    run = write_run("out", NEWER, config=rules({**NOT_WORSE, "margin": 0.1}))
    found, _, err = gate(run, "--baseline", base)
    assert found == status and text in err, err


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        # Dropping the criterion by which the baseline fails makes the verdicts no better.
        ({**CRITERIA, "response_match_score": {"threshold": 0.5}}, CRITERIA, " of the verdict"),
        (
            {TRAJECTORY: {"threshold": 1.0, "match_type": "EXACT"}},
            {TRAJECTORY: {"threshold": 1.0, "match_type": "ANY_ORDER"}},
            f".{TRAJECTORY}",
        ),
    ],
)
def test_scoring_settings_that_changed_are_refused(write_run, gate, before, after, why):
    base = write_run("base", rows(*[F] * 60), criteria=before)
    run = write_run("out", NEWER, config=rules(NOT_WORSE), criteria=after)
    status, _, err = gate(run, "--baseline", base)
    assert status == 2 and f"the baseline was measured differently: criteria{why}" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere",), "nowhere: is no output directory of a run"),
        (("OUT", "--config", "nowhere.json"), "--config nowhere.json: No such file"),
        (("OUT", "--config", "TYPO"), "gate.rules.0.coverage.at_leas: unknown field (did you mean at_lea"),
        (("OUT", "--config", "OTHER"), "gate.rules.0.criterion: 'safety_v1' is not among the config's crit"),
        (("OUT", "--config", "NONE"), "gate.rules.0.criterion: turn_latency has no threshold"),
        (
            ("OUT", "--config", "MEAN"),
            "gate.rules.0.at_least, at_most: a mean of verdict lies between",
        ),
        (("OUT", "--junit", "nowhere/a.xml"), "--junit nowhere/a.xml: cannot be written"),
        (("OUT", "--config", "FINE", "--baseline", "v9"), "v9: is neither an app version of this run (v1)"),
        (("OUT", "--config", "FINE", "--baseline", "x/{date}"), "the run in OUT has no date (--date)"),
        (("OUT", "--config", "FINE", "--baseline", "previous"), "previous: the run wrote into no database"),
        (("OUT", "--config", "FINE", "--store", "sqlite:///a.db"), "go with --baseline previous only"),
        (("OUT", "--json=-", "--junit=-"), "one of them can be - (standard output)"),
        (("OUT", "--json=a", "--json=b"), "--json is given twice, and takes one value"),
        (("OUT", "--markdow", "a.md"), "unrecognized arguments: --markdow"),
    ],
)
def test_wrong_input_ends_with_2(write_run, gate, tmp_path, arguments, message):
    names = {"OUT": write_run("out", rows(P, F))}
    bound = {"rule": "bound", "side": "lower", "at_least": 0.5}
    for name, rule in (
        ("FINE", ALL_PASS),
        ("TYPO", {"rule": "coverage", "at_leas": 1}),
        ("OTHER", {**bound, "criterion": "safety_v1"}),
        ("NONE", {"rule": "all_pass", "criterion": "turn_latency"}),
        ("MEAN", {**bound, "criterion": "verdict", "measure": "mean", "at_least": 2}),
    ):
        names[name] = write(tmp_path / f"{name}.json", rules(rule))
    status, out, err = gate(*[names.get(word, word) for word in arguments])
    message = message.replace("OUT", str(names["OUT"]))
    assert (status, out) == (2, "") and message in err and err.count("\n") == 1, err


ATTACK = (
    "</code></td></table><script>alert(1)</script> | **bold** `code` [x](http://evil) @octocat #1 ~~x~~ "
    "www.evil.example ![x](y) <!-- \\| $x$ :smile: &lt; \x00\x1b[31m\ud800\ufffe\u202e\n| a | b |"
)
ELEMENTS = {
    "testsuites": ({"name", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped"}, {"testcase"}),
    "testcase": ({"classname", "name"}, {"failure", "error", "skipped"}),
    "failure": ({"type", "message"}, set()),
    "error": ({"type", "message"}, set()),
    "skipped": ({"type", "message"}, set()),
}


def attacked(write_run: WriteRun) -> Path:
    found = [
        conversation("good", P),
        conversation(ATTACK, F, why=ATTACK, problem_label=ATTACK, source=ATTACK, app_version="v1"),
        conversation("open", U),
    ]
    bad = [score(ATTACK, F, turn_index=index, explanation=ATTACK) for index in (2, None)]
    scores, held = [score("good", P), *bad, score("open", U)], {"rule": "coverage", "at_least": 0.5}
    return write_run("out", found, scores, [failure(ATTACK)], config=rules(ALL_PASS, held))


def test_junit_holds_one_test_a_conversation_and_criterion(write_run, gate, tmp_path):
    path = tmp_path / "junit.xml"
    assert gate(attacked(write_run), "--junit", path)[0] == 1
    root = ET.parse(path).getroot()
    for element in root.iter():
        attributes, children = ELEMENTS[element.tag]
        assert set(element.attrib) == attributes and {child.tag for child in element} <= children
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == ["gate rules", "rejected records", "verdict", "tool_trajectory_avg_score"]
    found = {
        name: [suite.get(key) for key in ("tests", "failures", "errors", "skipped")]
        for name, suite in suites.items()
    }
    assert found == {
        "gate rules": ["2", "1", "0", "0"],
        "rejected records": ["1", "0", "1", "0"],
        "verdict": ["3", "1", "0", "1"],
        "tool_trajectory_avg_score": ["3", "1", "0", "1"],
    }
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("9", "3", "1")
    good, bad, inconclusive = suites["tool_trajectory_avg_score"]
    assert (good.get("classname"), good.get("name"), len(good)) == ("v1.tool_trajectory_avg_score", "good", 0)
    assert bad[0].tag == "failure" and (bad[0].get("message") or "").startswith("turn 3: </code></td>")
    assert bad[0].text == "value 0, threshold 1"
    assert inconclusive[0].tag == "skipped" and inconclusive[0].get("message") == "the log is incomplete"
    text = path.read_text(encoding="utf-8")
    assert all(char.isprintable() or char == "\n" for char in text)
    assert "\\u0000\\u001b[31m\\ud800\\ufffe\\u202e" in text


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def check_markup(lines: list[str]) -> None:
    """Outside of code there is no markup but ours, and nothing that GitHub makes a link or a mention of."""
    for line in lines:
        for inside in re.findall(r"<code>(.*?)</code>", line):
            assert re.fullmatch(r"(&#\d+;|[A-Za-z0-9(),;=%+?'\"-]|[^\x00-\x7f])+", inside), inside
        rest = re.sub(r"<code>.*?</code>|</?details>|</?summary>|\*\*", "", line)
        rest = "" if re.fullmatch(r"\|[-|]*", line) else rest.removeprefix("## ").removeprefix("- ")
        if line.startswith("|"):
            rest = rest.replace("| ", "").replace(" |", "")
        assert not re.search(r"[][<>@#|`*~&$\\]|://|www\.|:\w+:|^\s*[-+=]", rest), line


def test_markdown_is_a_summary_that_judged_text_cannot_break(write_run, gate, tmp_path):
    path = tmp_path / "gate.md"
    assert gate(attacked(write_run), "--markdown", path)[0] == 1
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "## turnwise: failed"
    assert lines[2] == "3 conversations: 1 passed, 1 failed, 1 without a verdict; 1 record rejected."
    assert lines[4] == "why it did not pass:" and lines[6].startswith("- **failed**: ")
    table = [cells(line) for line in lines if line.startswith("|")]
    assert {len(row) for row in table} == {3} and [row[2] for row in table[2:4]] == ["failing", "no verdict"]
    assert "<details><summary>Details</summary>" in lines and lines[-1] == "</details>"
    check_markup(lines)
    shown = re.sub("</?code>", "", html.unescape("\n".join(lines)))
    assert "</td></table><script>" in shown and "\\u001b" in shown


def test_markdown_says_what_changed_against_the_baseline(write_run, gate, tmp_path):
    def written(folder, version, verdicts, **document):
        of = "projects/p/locations/l/apps/a/{}/{}".format
        own = [
            {"app_version": of("versions", version), "eval_id": of("evaluations", f"case-c{i}")}
            for i in range(len(verdicts))
        ]
        found = [conversation(f"c{i}", verdict, **own[i]) for i, verdict in enumerate(verdicts)]
        scores = [score(f"c{i}", verdict, **own[i]) for i, verdict in enumerate(verdicts)]
        return write_run(folder, found, scores, **document)

    base = written("base", "v1", [P, P, F, P, *[P] * 20])
    run = written("new", "v2", [F, U, P, P, *[P] * 20], config=rules({**NOT_WORSE, "margin": 0.5}))
    path = tmp_path / "gate.md"
    _, out, _ = gate(run, "--baseline", base, "--markdown", path)
    _, document, told = gate(run, "--baseline", base, "--markdown", "-")
    assert document == path.read_text(encoding="utf-8") and "gate: " in told, "- is standard output alone"
    lines = path.read_text(encoding="utf-8").splitlines()
    check_markup(lines)
    page = [line for line in lines if line][1:3]
    assert page[0].startswith("**Inconclusive: v2 may be up to ") and page[1] in out, "as the terminal says"
    assert page[1] == "regressed 1, fixed 1, still failing 0, no verdict 1, rejected 0"
    table = [cells(line) for line in lines if line.startswith("|")]
    assert [row[1:] for row in table[2:4]] == [["case-c0", "regressed"], ["case-c1", "no verdict any more"]]
    changed = [row for row in table if row[0] == "Missing: <code>pay()&#46;</code>"]
    names = "verdict, tool_trajectory_avg_score"
    told = [["case-c0", f"regressed: {names}"], ["case-c2", f"fixed: {names}"]]
    assert [row[1:] for row in changed] == told
    assert not any("case-c9" in line for line in lines)


def test_what_was_lost_is_named_in_every_form(write_run, gate, tmp_path):
    failures = [failure("no JSON", source=f"{ATTACK}{i}") for i in range(23)]
    run = write_run("out", rows(P), failures=failures, config=rules({"rule": "all_pass"}))
    paths = [tmp_path / name for name in ("a.xml", "a.md", "a.json")]
    status, _, err = gate(run, "--junit", paths[0], "--markdown", paths[1], "--json", paths[2])
    assert status == 1 and err.count("\n") == 1 and err.endswith(" and 3 more\n")
    before, _, missing = err.partition("; missing: ")
    assert before.endswith("inconclusive: 0 failed, 23 without an outcome (23 records rejected)")
    names = missing.removesuffix(" and 3 more\n").split(", ")
    assert len({*names}) == len(names) == 20, "no two of them look alike"
    told = ET.parse(paths[0]).getroot().find("testsuite/testcase/failure")
    assert told is not None and (told.text or "").startswith("missing: ")
    lines = paths[1].read_text(encoding="utf-8").splitlines()
    (line,) = [one for one in lines if "every conversation" in one]
    assert "; missing: " in line and " and 18 more — " in line
    check_markup(lines)
    (rule,) = json.loads(paths[2].read_text(encoding="utf-8"))["rules"]
    assert (len(rule["rejected"]), rule["more_rejected"], rule["app_version"]) == (20, 3, None)


def test_json_holds_everything(write_run, gate, tmp_path):
    path = tmp_path / "gate.json"
    assert gate(attacked(write_run), "--json", path)[0] == 1
    report = json.loads(path.read_text(encoding="utf-8"))
    assert (report["status"], report["run_id"], report["baseline"]) == ("failed", "out", None)
    assert [rule["status"] for rule in report["rules"]] == ["failed", "passed"]
    assert len(report["checks"]) == 6 and report["rejected"][0]["place"] == "logs.jsonl:7"
    assert [one["alike"] for one in report["to_read"]] == [2, 2]


@pytest.mark.parametrize("versions", [(), ("--candidate", "v2")])
def test_a_case_that_one_version_lacks_is_not_decided(write_run, gate, versions):
    held = rules({"rule": "all_pass"}, {"rule": "coverage", "at_least": 0.9})
    own = rows("PASS", "PASS")
    other = {**own[0], "app_version": "v2"}
    status, _, err = gate(str(write_run("r", [*own, other], config=held)), *versions)
    unrecorded = "(1 eval case without a recording in v2)"
    assert status == 1 and f"inconclusive: 0 failed, 1 without an outcome {unrecorded}" in err, err
    assert f"decided (v2): failed: 50.0%: 1 of 2 {unrecorded}" in err and "(v1): failed" not in err
    rejected = [failure("no turn", record=json.dumps({"eval_id": own[1]["eval_id"]}))]
    run = write_run("rejected", [*own, other], failures=rejected, config=held)
    status, _, err = gate(run, *versions)
    assert status == 1 and "0 failed, 1 without an outcome (1 record rejected)" in err, err


@pytest.mark.parametrize(
    ("record", "share"), [('{"eval_id": "gone"', "50.0%: 2 of 4"), ("{", "40.0%: 2 of 5")]
)
def test_a_case_whose_record_was_lost_counts_once(write_run, gate, record, share):
    found = rules({"rule": "coverage", "at_least": 0.9})
    counts = {"rejected_records": 1, "unused_cases": 2}
    rejected = [failure("no turn", record=record)]
    out = write_run("r", rows("PASS", "PASS"), failures=rejected, counts=counts, config=found)
    status, _, err = gate(str(out))
    assert status == 1 and share in err, err
