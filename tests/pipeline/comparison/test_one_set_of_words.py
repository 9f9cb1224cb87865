"""Every surface says the same headline and counts of one run, with the same digits."""

import json

import pytest

import turnwise as api
from turnwise.pipeline.report.html import compare_versions
from turnwise.pipeline.runs.directory import open_run
from turnwise.pipeline.runs.store import sides_of_store
from turnwise.pipeline.service.comparison import compare_app_versions, version_verdict
from turnwise.pipeline.service.runs import Service
from turnwise.pipeline.store.database import open_store
from turnwise.schemas.ces.tools import CompareAppVersionsRequest
from turnwise.transforms.decisions.comparison.words import share_text
from turnwise.transforms.decisions.first_page import counts_text

APP = "projects/p/locations/l/apps/a"
CONFIG = {"criteria": {"response_match_score": 0.8}}
VERSIONS = ("apps/a/versions/v1", "apps/a/versions/v2")


def logs():
    """Logs of two versions: of 30 cases the second fails 4 that the first passes, and passes 11 others.

    Three cases of the second are recorded twice, which are no further trials.
    """
    for number, version in enumerate(VERSIONS):
        for i in range(30 + 3 * number):
            is_bad = i < 11 if not number else 20 <= i < 24
            turn = {"user": f"Hi {i}", "agent": "No, not at all" if is_bad else "Hello"}
            turn["expected"] = {"response": "Hello"}
            names = {"conversation_id": f"{number}-{i}", "eval_id": f"e{i % 30}", "app_version": version}
            yield {**names, "start_time": f"2026-11-0{number + 1}T00:00:{i:02}Z", "turns": [turn]}


def test_terminal_compare_report_python_store_and_mcp(turnwise, score_logs, tmp_path):
    store = f"sqlite:///{tmp_path}/store.db"
    done = score_logs(logs(), CONFIG, "--store", store, "--store_app", APP)
    found = json.loads(turnwise("compare", tmp_path / "out", "--format", "json").out)["page"]
    headline, counts = found["headline"], "regressed 4, fixed 11, still failing 0, no verdict 0, rejected 0"
    assert headline.startswith("v2 is not worse than v1 by more than 2 points: 86.7% pass against 63.3%, ")
    assert (found["baseline"], found["candidate"]) == ("v1", "v2")
    assert "by their first conversations" in found["chosen"]
    assert headline in " ".join(done.out.split()) and counts in done.out
    run = open_run(str(tmp_path / "out"))
    (page,) = compare_versions([run]).pages
    assert (page.headline, counts_text(page)) == (headline, counts)
    named = [one.conversation_id for one in page.read_first]
    assert set(named) <= {f"1-{i}" for i in range(20, 24)}, "the candidate's regressions come first"
    summary = api.evaluate(list(logs()), config=CONFIG).summary
    assert headline in " ".join(summary.split()) and counts in summary
    sides = sides_of_store(store, APP, ("v1", "v2"))
    assert version_verdict(sides)["headline"] == headline
    command = "compare", "--store", store, "--app", APP, "--baseline", "v1", "--candidate", "v2"
    text = turnwise(*command).out
    assert headline in " ".join(text.split()) and counts in text and "read first:" in text
    request = {"parent": APP, "baselineVersion": "v1", "candidateVersion": "v2"}
    told = compare_app_versions(
        Service(open_store(store), "tester"), CompareAppVersionsRequest.from_value(request)
    )
    assert told["verdict"]["headline"] == headline
    rows = {row["app_version"]: row for row in run.metrics() if row["criterion"] == "verdict"}
    gate = tmp_path / "gate.json"
    rule = {"rule": "bound", "criterion": "verdict", "side": "lower", "at_least": 0.2}
    gate.write_text(json.dumps({"gate": {"rules": [rule]}}))
    gated = " ".join(turnwise("gate", tmp_path / "out", "--config", gate).out.split())
    for side, version in zip(("baseline", "candidate"), VERSIONS, strict=True):
        figures = [rows[version][name] for name in ("pass_rate", "pass_rate_low", "pass_rate_high")]
        of_service = [told[side][name] for name in ("passRate", "passRateLow", "passRateHigh")]
        assert of_service == pytest.approx(figures), "the store knows the interval of the run"
        rate, low, high = map(share_text, figures)
        passed = (
            f"{rate} ({rows[version]['pass_count']} of {rows[version]['scored']}, {low[:-1]} to {high[:-1]})"
        )
        assert passed in done.out and passed in summary
        if version == VERSIONS[0]:  # a case of the gate counts once, however often it was recorded
            assert f"{rate} ({low} to {high}), 30 cases" in gated
        else:
            assert f", 30 cases, each counting once ({rate} of their 33 conversations)" in gated
    of_store = json.loads(turnwise(*command, "--format", "json").out)["page"]
    assert of_store["read_first"] == found["read_first"] and of_store["destructive"] == found["destructive"]
