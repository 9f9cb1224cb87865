"""Every surface says the same headline and counts of one run, with the same digits."""

import json

import turnwise as api
from turnwise.pipeline.report.html import compare_versions
from turnwise.pipeline.runs.directory import open_run
from turnwise.pipeline.runs.store import sides_of_store
from turnwise.pipeline.service.comparison import version_verdict
from turnwise.transforms.decisions.first_page import counts_text

APP = "projects/p/locations/l/apps/a"
CONFIG = {"criteria": {"response_match_score": 0.8}}
VERSIONS = ("apps/a/versions/v1", "apps/a/versions/v2")


def logs():
    """Logs of two versions: of 30 cases the second fails 4 that the first passes, and passes 11 others."""
    for number, version in enumerate(VERSIONS):
        for i in range(30):
            is_bad = i < 11 if not number else 20 <= i < 24
            turn = {"user": f"Hi {i}", "agent": "No, not at all" if is_bad else "Hello"}
            turn["expected"] = {"response": "Hello"}
            names = {"conversation_id": f"{number}-{i}", "eval_id": f"e{i}", "app_version": version}
            yield {**names, "start_time": f"2026-11-0{number + 1}T00:00:{i:02}Z", "turns": [turn]}


def test_terminal_compare_report_python_store_and_mcp(turnwise, tmp_path):
    source, config = tmp_path / "logs.jsonl", tmp_path / "config.json"
    source.write_text("".join(json.dumps(row) + "\n" for row in logs()))
    config.write_text(json.dumps(CONFIG))
    store = f"sqlite:///{tmp_path}/store.db"
    given = (
        "--input",
        source,
        "--config",
        config,
        "--store",
        store,
        "--store_app",
        "projects/p/locations/l/apps/a",
    )
    done = turnwise("run", *given, output=tmp_path / "out")
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
    of_store = json.loads(turnwise(*command, "--format", "json").out)["page"]
    assert of_store["read_first"] == found["read_first"] and of_store["destructive"] == found["destructive"]
