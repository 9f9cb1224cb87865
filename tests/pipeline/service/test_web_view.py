"""The pages of the web view: what they tell, what they refuse, and who may see them."""

import re
import urllib.error
import urllib.request
from base64 import b64encode
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import delete

from tests.pipeline.report_html.attacks import ATTACKS
from tests.pipeline.report_html.made_run import conversation, write_run
from tests.stored_runs import put_run
from turnwise.pipeline.report.html import compare_versions
from turnwise.pipeline.runs.directory import open_run
from turnwise.pipeline.runs.store import read_stored_run
from turnwise.pipeline.service.runs import Service
from turnwise.pipeline.service.serve import ServiceError
from turnwise.pipeline.service.web import (
    TrendQuery,
    apps_page,
    el,
    joined,
    runs_page,
    stored_report,
    trend_page,
)
from turnwise.pipeline.store.database import CONVERSATION_ROWS, LOCAL_APP, Store, open_store
from turnwise.schemas.report import Report
from turnwise.transforms.decisions.report.document import PlacedChunks, build_report
from turnwise.transforms.decisions.run import Run


def talks(version: str, passes: int, fails: int) -> list[Any]:
    verdicts = ["PASS"] * passes + ["FAIL"] * fails
    return [
        conversation(f"c{i}-{version}", verdict, app_version=version, eval_id=f"case-{i}", position=i)
        for i, verdict in enumerate(verdicts)
    ]


def text_of(answer: Any) -> str:
    """Returns a page without its style."""
    return re.sub(r"(?s)<style>.*?</style>", "", answer.body.decode())


def trend(service: Service, **more: str) -> str:
    return text_of(trend_page(service, TrendQuery(LOCAL_APP, **{**EVERYTHING, **more})))


EVERYTHING = {"criterion": "", "app_version": "", "page_token": ""}


def test_runs_are_listed_with_their_state_and_counts(store: Store) -> None:
    service = Service(store, "tester")
    assert "The store holds no run" in text_of(apps_page(service))
    done = put_run(store, talks("v1", 3, 1), run_id="done")
    begun = put_run(store, talks("v1", 1, 0), 1, run_id="begun", ends=False)
    assert LOCAL_APP in text_of(apps_page(service))
    page = text_of(runs_page(service, LOCAL_APP, ""))
    assert page.index(">begun<") < page.index(">done<")
    assert f'value="{done}"' in page and f'value="{begun}"' not in page
    assert "RUNNING" in page and "COMPLETED" in page
    assert re.search(r"<td>v1</td><td>4</td><td>3</td>", page) or "<td>4</td>" in page
    with pytest.raises(ServiceError, match="is not of the form"):
        runs_page(service, "no app", "")


def test_a_trend_draws_what_was_measured_and_tells_what_was_not(store: Store) -> None:
    service = Service(store, "tester")
    put_run(store, talks("v1", 3, 1), run_id="first")
    put_run(store, [conversation("c", None, app_version="v2")], 1, run_id="no_verdict")
    put_run(store, talks("v2", 4, 0), 2, run_id="broken", ends=False)
    put_run(store, talks("v2", 4, 0), 3, run_id="last")
    page = trend(service, criterion="verdict")
    assert page.count('class="dot"') == 2 and page.count('class="gap"') == 2
    assert "first v1: 75.0%" in page and "last v2: 100.0%" in page and ": 0.0%" not in page
    assert "run broken has not ended" in page
    with pytest.raises(ServiceError, match="no run of the app has the criterion"):
        trend(service, criterion="other")


def report_of(run: Run) -> Any:
    def place(_: str, chunks: Any) -> PlacedChunks:
        return PlacedChunks(1, 1, {i: 0 for places, _ in chunks for i in places})

    report: Report = build_report([run], compare_versions([run]), place)
    found = msgspec.to_builtins(report)
    found["runs"][0] |= {"directory": "", "counts": {}}
    for comparison in found["comparisons"]:
        comparison["a"]["source"] = comparison["b"]["source"] = ""
    return found


def test_the_report_of_a_stored_run_is_that_of_its_files(store: Store, tmp_path: Path) -> None:
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


def metrics_of(stored: Run) -> list[Any]:
    more = dict.fromkeys(("repeats", "panel", "flipped", "flip_rate", "window_end", "pane"))
    more |= {"sampled_out": 0, "voted": 0, "run_id": "run-1"}
    return [{**row, **more} for row in stored.metrics()]


def test_conversations_that_are_missing_are_told(store: Store) -> None:
    name = put_run(store, talks("v1", 3, 1))
    some = CONVERSATION_ROWS.c.conversation_id.in_(["c0-v1", "c1-v1"])
    store.write(lambda connection: connection.execute(delete(CONVERSATION_ROWS).where(some)))
    stored = store.read(lambda connection: read_stored_run(connection, name, 100))
    assert len(stored.gaps) == 1 and "holds 2 of 4 conversations of run-1" in stored.gaps[0]
    assert stored_report(Service(store, "tester"), [name]).status_code == 200


@pytest.mark.parametrize(
    ("names", "why"),
    [
        ([], "select 1 to 5"),
        (["{run}", "{run}"], "each once"),
        ([f"{LOCAL_APP}/evaluationRuns/gone"], "there is no run"),
        (["{begun}"], "is RUNNING: there is a report of complete runs only"),
    ],
)
def test_reports_that_are_refused(store: Store, names: list[str], why: str) -> None:
    run = put_run(store, talks("v1", 1, 1))
    begun = put_run(store, talks("v1", 1, 1), 1, run_id="begun", ends=False)
    with pytest.raises(ServiceError, match=why):
        stored_report(Service(store, "tester"), [name.format(run=run, begun=begun) for name in names])


@pytest.mark.parametrize("text", ATTACKS.values(), ids=list(ATTACKS))
def test_texts_are_escaped(text: str) -> None:
    made = el("p", text, title=text)
    assert made.count("<") == 2 and made.count(">") == 2 and made.count('"') == 2
    assert joined(text, made).count("<") == 2


def ask(url: str, **headers: str) -> Any:
    """Returns code, headers and text of an answer."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def test_a_browser_is_asked_for_the_token(start: Any, sqlite_url: str) -> None:
    store = open_store(sqlite_url, create=True)
    put_run(store, talks("v1", 1, 1))
    store.close()
    server = start(store_url=sqlite_url, token="a-token-of-some-length")
    view, given = f"{server.url}/ui", "a-token-of-some-length-read"
    for path in ("", f"/runs?app={LOCAL_APP}", "/report", "/nothing"):
        code, headers, page = ask(f"{view}{path}")
        assert code == 401 and headers["WWW-Authenticate"].startswith("Basic ") and LOCAL_APP not in page
    signed = {"Authorization": f"Basic {b64encode(f'ann:{given}'.encode()).decode()}"}
    code, headers, page = ask(view, **signed)
    assert code == 200 and LOCAL_APP in page and headers["Cache-Control"] == "no-store"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    # A browser sends the password by itself, for pages alone: another site could make it send one.
    code, headers, _ = ask(f"{server.url}/v1beta/{LOCAL_APP}/evaluations", **signed)
    assert (code, headers["WWW-Authenticate"]) == (401, "Bearer")
    code, headers, page = ask(f"{view}/report?run={LOCAL_APP}/evaluationRuns/run-1", **signed)
    assert code == 200 and "turnwise report" in page
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    code, _, page = ask(f"{view}/report?run={LOCAL_APP}/evaluationRuns/gone", **signed)
    assert code == 400 and "there is no run" in page
    assert given not in server.stop()
