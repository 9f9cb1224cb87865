"""The reports of `turnwise gate`: texts of strangers do not break them."""

import html
import json
import re
import xml.etree.ElementTree as ET

import pytest

from tests.pipeline.made_runs import make_run

ALL_PASS = {"rule": "bound", "criterion": "verdict", "side": "estimate", "at_least": 1.0}


def rules(*found):
    return {"gate": {"rules": found}}


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


@pytest.fixture
def attacked(tmp_path):
    """Returns the directory of a run that failed."""
    wrong = {"why": ATTACK, "problem_label": ATTACK, "source": ATTACK}
    return make_run(
        tmp_path / "out",
        more=[("good", "PASS", {}), (ATTACK, "FAIL", wrong), ("open", None, {})],
        scores=[
            ("good", "PASS", {}),
            *((ATTACK, "FAIL", {"turn_index": index, "explanation": ATTACK}) for index in (2, None)),
            ("open", None, {}),
        ],
        failures=[(ATTACK, {})],
        config=rules(ALL_PASS, {"rule": "coverage", "at_least": 0.5}),
    )


def test_junit_holds_one_test_a_conversation_and_criterion(turnwise, tmp_path, attacked):
    path = tmp_path / "junit.xml"
    assert turnwise("gate", attacked, "--junit", path).status == 1
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


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def check_markup(lines):
    """Outside of code there is no markup but ours, and nothing that GitHub makes a link or a mention of."""
    for line in lines:
        for inside in re.findall(r"<code>(.*?)</code>", line):
            assert re.fullmatch(r"(&#\d+;|[A-Za-z0-9(),;=%+?'\"-]|[^\x00-\x7f])+", inside), inside
        rest = re.sub(r"<code>.*?</code>|</?details>|</?summary>|\*\*", "", line)
        rest = "" if re.fullmatch(r"\|[-|]*", line) else rest.removeprefix("## ").removeprefix("- ")
        if line.startswith("|"):
            rest = rest.replace("| ", "").replace(" |", "")
        assert not re.search(r"[][<>@#|`*~&$\\]|://|www\.|:\w+:|^\s*[-+=]", rest), line


def test_markdown_is_a_summary_that_judged_text_cannot_break(turnwise, tmp_path, attacked):
    path = tmp_path / "gate.md"
    assert turnwise("gate", attacked, "--markdown", path).status == 1
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


def test_markdown_says_what_changed_against_the_baseline(turnwise, tmp_path):
    def written(name, version, verdicts, **document):
        of = "projects/p/locations/l/apps/a/{}/{}".format
        rows = [
            (
                f"c{i}",
                verdict,
                {"app_version": of("versions", version), "eval_id": of("evaluations", f"case-c{i}")},
            )
            for i, verdict in enumerate(verdicts + ["PASS"] * 20)
        ]
        return make_run(tmp_path / name, more=rows, **document)

    base = written("base", "v1", ["PASS", "PASS", "FAIL", "PASS"])
    run = written(
        "new", "v2", ["FAIL", None, "PASS", "PASS"], config=rules({"rule": "not_worse", "margin": 0.5})
    )
    path = tmp_path / "gate.md"
    out = turnwise("gate", run, "--baseline", base, "--markdown", path).out
    done = turnwise("gate", run, "--baseline", base, "--markdown", "-")
    assert done.out == path.read_text(encoding="utf-8") and "gate: " in done.err, "- is standard output alone"
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


def test_what_was_rejected_is_named_in_every_form(turnwise, tmp_path):
    failures = [("no JSON", {"source": f"{ATTACK}{i}"}) for i in range(23)]
    run = make_run(tmp_path / "out", "P", failures=failures, config=rules({"rule": "all_pass"}))
    paths = [tmp_path / name for name in ("a.xml", "a.md", "a.json")]
    done = turnwise("gate", run, "--junit", paths[0], "--markdown", paths[1], "--json", paths[2])
    err = done.err
    assert done.status == 1 and err.count("\n") == 1 and err.endswith(" and 3 more\n")
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


def test_json_holds_everything(turnwise, tmp_path, attacked):
    path = tmp_path / "gate.json"
    assert turnwise("gate", attacked, "--json", path).status == 1
    report = json.loads(path.read_text(encoding="utf-8"))
    assert (report["status"], report["run_id"], report["baseline"]) == ("failed", "out", None)
    assert [rule["status"] for rule in report["rules"]] == ["failed", "passed"]
    assert len(report["checks"]) == 6 and report["rejected"][0]["place"] == "logs.jsonl:7"
    assert [one["alike"] for one in report["to_read"]] == [2, 2]
