"""The pages of the web view: what they tell, what they refuse, and who may see them."""

import gzip
import json
import re
import urllib.error
import urllib.request
from base64 import b64decode, b64encode
from functools import partial

import msgspec
import pytest
from sqlalchemy import delete

from tests.pipeline.report_html.made_run import conversation, write_run
from tests.stored_runs import put_run
from turnwise.pipeline.report.html import compare_versions
from turnwise.pipeline.runs.directory import open_run
from turnwise.pipeline.runs.store import StoredRuns, read_stored_run
from turnwise.pipeline.service.comparison import version_verdict
from turnwise.pipeline.service.serve import ServiceError
from turnwise.pipeline.service.web import (
    compare_page,
    first_page,
    runs_page,
    stored_report,
    trend_page,
)
from turnwise.pipeline.store.database import CONVERSATION_ROWS, LOCAL_APP, open_store
from turnwise.schemas.report import Report
from turnwise.transforms.decisions.report.document import PlacedChunks, build_report
from turnwise.transforms.statistics.tests import wilson_interval


def talks(version, passes, fails):
    verdicts = ["PASS"] * passes + ["FAIL"] * fails
    return [
        conversation(f"c{i}-{version}", verdict, app_version=version, eval_id=f"case-{i}", position=i)
        for i, verdict in enumerate(verdicts)
    ]


def shown(answer, name="service"):
    (packed,) = re.findall(rf'id="{name}">([^<]*)<', answer.body.decode())
    return json.loads(gzip.decompress(b64decode(packed)))


def trend(service, **more):
    return shown(trend_page(service, LOCAL_APP, **more))


def test_apps_runs_and_versions_are_listed(store, service):
    assert shown(first_page(service))["apps"] == []
    done = put_run(store, talks("v1", 3, 1), run_id="done")
    put_run(store, talks("v2", 1, 0), 1, run_id="begun", ends=False)
    page = shown(first_page(service))
    assert (page["view"], page["app"], page["versions"]) == ("runs", LOCAL_APP, ["v1"])
    assert [(run["runId"], run["state"]) for run in page["runs"]] == [
        ("begun", "RUNNING"),
        ("done", "COMPLETED"),
    ]
    assert (page["runs"][1]["name"], page["runs"][1]["conversationCount"]) == (done, 4)
    with pytest.raises(ServiceError, match="is not of the form"):
        runs_page(service, "no app", "")
    for made in (partial(runs_page, page_token=""), trend_page):
        with pytest.raises(ServiceError, match=f"x was not found; apps of the store: {LOCAL_APP}"):
            made(service, f"{LOCAL_APP}x")


def test_two_versions_are_compared_as_the_command_does_with_their_conversations(store, service):
    put_run(store, talks("v1", 12, 9), run_id="first")
    other = conversation("c-v3", None, app_version="v3", sampled_out=["verdict"])
    put_run(store, [*talks("v2", 16, 4), *talks("v3", 2, 2), other], 1, run_id="second")
    report = shown(compare_page(service, LOCAL_APP, "v1", "v2"), "report")
    sides = store.read(lambda connection: StoredRuns(connection, LOCAL_APP).sides(["v1", "v2"], "here"))
    (page,) = report["first_pages"]
    assert page["headline"] == version_verdict(sides)["headline"]
    assert [version["name"] for version in report["versions"]] == ["v1", "v2"]
    assert len(report["conversations"]["id"]) == 41 and page["fixed"] == 4
    assert [run["sampled_out"] for run in report["runs"]] == [0, 0]
    assert any("of other app versions" in note for note in report["comparisons"][0]["notes"])
    for names, why in {
        ("v1", "v1"): "nothing to compare",
        ("v1", ""): "required",
        ("v1", "v9"): "no result",
    }.items():
        with pytest.raises(ServiceError, match=why):
            compare_page(service, LOCAL_APP, *names)


@pytest.mark.parametrize("apart", [True, False], ids=["two runs", "one run"])
def test_versions_with_slashes_are_named_as_in_the_report(store, service, apart):
    first, second = talks("team-a/v1", 16, 4), talks("team-b/v1", 18, 2)
    put_run(store, first if apart else [*first, *second], run_id="first")
    if apart:
        put_run(store, second, 1, run_id="second")
    report = shown(compare_page(service, LOCAL_APP, "team-a/v1", "team-b/v1"), "report")
    (page,) = report["first_pages"]
    named = [version["name"] for version in report["versions"]]
    assert [page["baseline"], page["candidate"]] == named and len({*named}) == 2
    assert [version["app_version"] for version in report["versions"]] == ["team-a/v1", "team-b/v1"]


def test_a_side_of_two_runs_has_the_interval_of_its_value_and_is_named_once(store, service):
    again = [{**row, "conversation_id": f"again-{row['conversation_id']}"} for row in talks("v2", 0, 20)]
    first = [*talks("v1", 20, 0), *talks("v2", 20, 0)]
    put_run(store, first, run_id="first", exit_status=1, problems=["an alert"])
    put_run(store, again, 1, run_id="second")
    report = shown(compare_page(service, LOCAL_APP, "v1", "v2"), "report")
    _, figure = report["criteria"][0]["figures"]
    low, high = wilson_interval(10, 20)  # 20 cases, each with a pass and a failure
    assert (figure["share"], figure["low"], figure["high"]) == pytest.approx((0.5, low, high))
    assert [run["name"] for run in report["runs"]] == ["v1 (run first)", "v2 (2 runs)"]
    problems = [one["text"] for one in report["sentences"]]
    assert problems == [f"{name} ended with exit status 1: {why}an alert." for name, why in (
        ("v1 (run first)", ""), ("v2 (2 runs)", "first: "))]  # fmt: skip


def test_versions_of_the_same_runs_have_one_balance(store, service):
    for number, name in enumerate(("first", "second")):
        rows = [*talks("v1", 12, 0), *talks("v2", 6, 6)]
        rows = [{**row, "conversation_id": f"{name}-{row['conversation_id']}"} for row in rows]
        put_run(store, rows, number, run_id=name)
    report = shown(compare_page(service, LOCAL_APP, "v1", "v2"), "report")
    assert [one["text"].partition(":")[0] for one in report["coverage"]] == ["These 2 runs"]
    assert [version["conversations"] for version in report["versions"]] == [24, 24]


def test_a_trend_holds_what_was_measured_and_tells_what_was_not(store, service):
    put_run(store, talks("v1", 3, 1), run_id="first")
    put_run(store, [conversation("c", None, app_version="v2")], 1, run_id="no_verdict")
    put_run(store, talks("v2", 4, 0), 2, run_id="broken", ends=False)
    put_run(store, talks("v2", 4, 0), 3, run_id="last")
    page = trend(service, criterion="verdict")
    steps = [(step["run"], step["version"], step["value"]) for step in page["sections"][0]["steps"]]
    assert steps == [
        *(("first", "v1", 0.75), ("no_verdict", "v2", None), ("broken", "", None), ("last", "v2", 1.0))
    ]
    assert any("run broken has not ended" in text for text in page["unread"])
    with pytest.raises(ServiceError, match="no run of the app has the criterion"):
        trend(service, criterion="other")


def report_of(run):
    def place(_, chunks):
        return PlacedChunks(1, 1, {i: 0 for places, _ in chunks for i in places})

    report: Report = build_report([run], compare_versions([run]), place)
    found = msgspec.to_builtins(report)
    found["runs"][0] |= {"directory": "", "counts": {}}
    for comparison in found["comparisons"]:
        comparison["baseline"]["source"] = comparison["candidate"]["source"] = ""
    return found


def test_the_report_of_a_stored_run_is_that_of_its_files(store, tmp_path):
    rows = [*talks("v1", 12, 9), *talks("v2", 16, 4)]
    name = put_run(store, rows, run_id="run-1")
    with_users = [{**row, "user_id": None} for row in rows]
    directory = write_run(tmp_path / "run", with_users, config={"judge": {}})
    stored = store.read(lambda connection: read_stored_run(connection, name, 100))
    assert not stored.gaps
    (directory / "metrics_by_app_version.jsonl").write_bytes(
        b"".join(msgspec.json.encode(row, enc_hook=str) + b"\n" for row in metrics_of(stored))
    )
    assert report_of(stored) == report_of(open_run(str(directory)))


def metrics_of(stored):
    more = dict.fromkeys(("repeats", "panel", "flipped", "flip_rate", "window_end", "pane"))
    more |= {"sampled_out": 0, "voted": 0, "run_id": "run-1"}
    return [{**row, **more} for row in stored.metrics()]


def test_conversations_that_are_missing_are_told(store, service):
    name = put_run(store, talks("v1", 3, 1))
    some = CONVERSATION_ROWS.c.conversation_id.in_(["c0-v1", "c1-v1"])
    store.write(lambda connection: connection.execute(delete(CONVERSATION_ROWS).where(some)))
    stored = store.read(lambda connection: read_stored_run(connection, name, 100))
    assert len(stored.gaps) == 1 and "holds 2 of 4 conversations of run-1" in stored.gaps[0]
    assert stored_report(service, [name]).status_code == 200


@pytest.mark.parametrize(
    ("names", "why"),
    [
        ([], "select 1 to 5"),
        (["{run}", "{run}"], "each once"),
        ([f"{LOCAL_APP}/evaluationRuns/gone"], "there is no run"),
        (["{begun}"], "is RUNNING: there is a report of complete runs only"),
    ],
)
def test_reports_that_are_refused(store, service, names, why):
    run = put_run(store, talks("v1", 1, 1))
    begun = put_run(store, talks("v1", 1, 1), 1, run_id="begun", ends=False)
    with pytest.raises(ServiceError, match=why):
        stored_report(service, [name.format(run=run, begun=begun) for name in names])


def ask(url, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def test_a_browser_is_asked_for_the_token(start, sqlite_url):
    store = open_store(sqlite_url, create=True)
    put_run(store, talks("v1", 1, 1))
    store.close()
    server = start(store_url=sqlite_url, token="a-token-of-some-length")
    view, given = f"{server.url}/ui", "a-token-of-some-length-read"
    code, _, page = ask(server.url)
    assert code == 401 and LOCAL_APP not in page
    for path in ("", f"/runs?app={LOCAL_APP}", "/report", "/nothing"):
        code, headers, page = ask(f"{view}{path}")
        assert code == 401 and headers["WWW-Authenticate"].startswith("Basic ") and LOCAL_APP not in page
    signed = {"Authorization": f"Basic {b64encode(f'ann:{given}'.encode()).decode()}"}
    code, headers, page = ask(view, **signed)
    assert code == 200 and "Runs of" in page and headers["Cache-Control"] == "no-store"
    # A browser sends the password by itself, for pages alone: another site could make it send one.
    code, headers, _ = ask(f"{server.url}/v1beta/{LOCAL_APP}/evaluations", **signed)
    assert (code, headers["WWW-Authenticate"]) == (401, "Bearer")
    code, headers, page = ask(f"{view}/report?run={LOCAL_APP}/evaluationRuns/run-1", **signed)
    assert code == 200 and "turnwise report" in page
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    code, _, page = ask(f"{view}/report?run={LOCAL_APP}/evaluationRuns/gone", **signed)
    assert code == 400 and "This page cannot be shown" in page
    assert given not in server.stop()
