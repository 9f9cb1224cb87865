"""Runs that read eval cases from a store, and write results and failures into one."""

import json
import subprocess
import sys
from functools import cache
from itertools import count
from operator import itemgetter
from pathlib import Path

import pytest
from sqlalchemy import select, text

from tests import forked
from tests.pipeline.logs import log, write
from tests.postgres_server import created
from tests.tables import files_of
from turnwise.pipeline.service.comparison import compare_app_versions
from turnwise.pipeline.service.evaluations import create_evaluation, get_evaluation
from turnwise.pipeline.service.runs import Service
from turnwise.pipeline.store.database import (
    CONVERSATIONS,
    FAILURES,
    LOCAL_APP,
    RESULTS,
    SCORES,
    open_store,
)
from turnwise.pipeline.store.rows import conversations_to_read, names_of, scores_of, verdict_counts
from turnwise.pipeline.store.runs import last_run
from turnwise.schemas.ces.result import EvaluationResult
from turnwise.schemas.ces.tools import CompareAppVersionsRequest, CreateEvaluationRequest, GetEvaluationTool
from turnwise.transforms.review.problems import to_read, type_sizes

ROOT = Path(__file__).parents[3]
PLAIN = ("--judge", "none")
NUMBERS = count()
LOADED_LATE = (*("sqlalchemy", "mcp", "starlette", "uvicorn", "psycopg"), *("turnwise.schemas.ces.result",))


def stored(store, table):
    rows = store.read(lambda c: c.execute(select(table.c.name, table.c.content)).all())
    return {name: json.loads(content) for name, content in rows}


def by_conversation(results):
    return {result["displayName"].rsplit(" - ", 1)[-1]: result for result in results}


@pytest.fixture(scope="module")
def stored_sample(turnwise, sample_arguments, tmp_path_factory):
    """Returns a function that runs the main job on the sample data with a store, once for each address."""

    @cache
    def run(url):
        output = tmp_path_factory.mktemp("stored") / "out"
        return turnwise(*sample_arguments, *PLAIN, "--store", url, output=output)

    return run


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def sample_store_url(request, tmp_path_factory):
    """Returns the address of a store, of either kind, that `stored_sample` alone writes into."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path_factory.mktemp('sample')}/store.db"
    return created(request.getfixturevalue("postgres"), f"sample{next(NUMBERS)}")


def test_a_store_gets_what_the_files_get(stored_sample, sample_store_url):
    done, store_url = stored_sample(sample_store_url), sample_store_url
    assert done.status == 0
    store = open_store(store_url)
    results, written = stored(store, RESULTS), done.rows("results")
    assert len(results) == len(written) == 59
    own = {one["displayName"]: one for one in results.values()}
    names = ("name", "evaluationRun", "displayName")
    for result in written:
        of = (result["evaluationRun"], result.get("appVersion", ""))
        scored = [one.rsplit("/", 1)[-1] for one in of if one]
        told = own[f"{result['displayName'].replace(f' ({scored[-1]}) - ', ' - ')} ({', '.join(scored)})"]
        assert told.keys() == result.keys()
        assert all(told[key] == result[key] for key in result if key not in names)
        assert unmarked(told["name"]) == result["name"].rsplit("/", 1)[1]
        assert EvaluationResult.from_value(told).to_value() == told
    failures = stored(store, FAILURES)
    key = itemgetter("stage", "source", "position")
    assert sorted(map(key, failures.values())) == sorted(map(key, done.rows("failures")))
    apps = {name.partition("/failures/")[0] for name in failures}
    assert apps == {LOCAL_APP, "projects/kettenblau-care/locations/eu/apps/front-desk"}
    assert "not-checked" not in done.out + done.err
    document = json.dumps(done.document("run.json"))
    assert "not-checked" not in document and store_url.partition(":")[0] in document
    store.close()


def test_a_store_holds_the_conversations_and_scores_of_the_files(stored_sample, sample_store_url):
    done = stored_sample(sample_store_url)
    store = open_store(sample_store_url)
    conversations, written = stored(store, CONVERSATIONS), done.rows("conversations")
    assert len(written) == 59 and sorted(map(_key, conversations.values())) == sorted(map(_key, written))
    assert all(row in written for row in conversations.values())
    query = select(*(SCORES.c[name] for name in SCORE_COLUMNS))
    scores = store.read(lambda c: [tuple(row) for row in c.execute(query)])
    assert len(scores) == len(done.rows("scores")) > 400
    assert set(scores) == {tuple(row[name] for name in SCORE_COLUMNS) for row in done.rows("scores")}
    app = "projects/kettenblau-care/locations/eu/apps/front-desk"
    run = store.read(lambda c: last_run(c, app))
    assert run is not None and run.startswith(f"{app}/evaluationRuns/")
    read = store.read(lambda c: conversations_to_read(c, run, "v2"))
    own = [row for row in written if (row["app_version"] or "").endswith("v2")]
    assert [row for _, row, _ in read] == to_read(own)
    sizes = type_sizes(own)
    assert [size for *_, size in read] == [sizes[row["problem_type"] or ""] for _, row, _ in read]
    assert sum(store.read(lambda c: verdict_counts(c, run, "v2")).values()) == len(own)
    first = read[0][1]["conversation_id"]
    (name,) = store.read(lambda c: names_of(c, app, first, run))
    expected = [r for r in done.rows("scores") if r["conversation_id"] == first]
    found_scores = store.read(lambda c: scores_of(c, name))
    assert {s["score_id"] for s in found_scores} == {s["score_id"] for s in expected}
    turns = [s["turn_index"] for s in found_scores]
    assert turns == sorted(turns, key=lambda turn: (turn is None, turn))
    shorter = text("""UPDATE score_rows SET content = replace(content, ',"span"\\:null', '')""")
    kept = store.undone(lambda c: (c.execute(shorter), scores_of(c, name))[1])
    assert kept[0]["content"] != found_scores[0]["content"]
    assert [row["span"] for row in kept] == [None] * len(expected)
    store.close()


SCORE_COLUMNS = ("score_id", "conversation_id", "turn_index", "criterion", "value", "outcome", "explanation")


def _key(row):
    return f"{row['conversation_id']} {row['app_version']}"


def unmarked(name):
    """Returns the last part of a stored name without the mark of its run and app version."""
    return name.rpartition("/")[2].rpartition("-")[0]


@pytest.mark.parametrize("copies", [1, 3])
def test_results_that_replace_others_of_their_run_are_counted(turnwise, store_url, tmp_path, copies):
    logs = write(tmp_path / "logs.jsonl", *(log(name) for name in ("c", "d", *["e"] * copies)))
    run = ("run", "--input", logs, *PLAIN, "--store", store_url, "--run_id", "same")
    for number in ("1", "2"):
        done = turnwise(*run, output=tmp_path / number)
        assert done.document("run.json")["replaced_in_store"] == copies - 1
        assert (f"store: {copies - 1} results were replaced" in done.out) == (copies > 1)
        assert "not counted" not in done.out


def fill_with_cases(store, sample):
    """Puts the CES cases of the sample into a store, as they are."""
    service = Service(store, "tester")
    lines = (sample / "cases/golden.jsonl").read_text().splitlines()
    scenarios = json.loads((sample / "cases/scenarios.json").read_text())
    cases = [*map(json.loads, filter(None, lines)), *scenarios]
    for case in cases:
        parent, _, last = case["name"].rpartition("/evaluations/")
        request = {"parent": parent, "evaluationId": last, "evaluation": case}
        create_evaluation(service, CreateEvaluationRequest.from_value(request))
    return len(cases)


def test_cases_of_a_store_are_those_of_files(turnwise, sample, store, store_url, tmp_path):
    count = fill_with_cases(store, sample)
    logs = ("run", "--input", sample / "conversations/ces.jsonl", *PLAIN, "--eval_cases")
    files = turnwise(
        *logs, sample / "cases/golden.jsonl", sample / "cases/scenarios.json", output=tmp_path / "f"
    )
    both = turnwise(*logs, store_url, "--store", store_url, output=tmp_path / "s")
    mixed = turnwise(*logs, store_url, sample / "cases/support.evalset.json", output=tmp_path / "m")
    assert [files.status, both.status, mixed.status] == [0, 0, 0]
    times = {"createTime": "", "evaluationRun": ""}
    wanted = {name: {**result, **times} for name, result in by_conversation(files.rows("results")).items()}
    for done in (both, mixed):
        found = {name: {**result, **times} for name, result in by_conversation(done.rows("results")).items()}
        assert found == wanted
    assert both.document("run.json")["counts"]["cases"] == count
    assert mixed.document("run.json")["counts"]["cases"] > count
    assert set(map(unmarked, stored(store, RESULTS))) == {
        result["name"].rpartition("/")[2] for result in files.rows("results")
    }


def test_metrics_that_are_read_back_are_those_of_the_run(turnwise, sample, store, store_url, tmp_path):
    fill_with_cases(store, sample)
    logs = ("run", "--input", sample / "conversations/ces.jsonl", "--judge", "local")
    done = turnwise(*logs, "--eval_cases", store_url, "--store", store_url, output=tmp_path / "out")
    versions = done.document("aggregated_metrics.json")["metricsByAppVersion"]
    ids = [version["appVersionId"] for version in versions]
    service, app = Service(store, "tester"), next(iter(stored(store, RESULTS))).partition("/evaluations/")[0]
    request = {"parent": app, "baselineVersion": ids[0], "candidateVersion": ids[1]}
    compared = compare_app_versions(service, CompareAppVersionsRequest.from_value(request))
    assert [compared["baseline"]["metrics"], compared["candidate"]["metrics"]] == versions
    assert any("semanticSimilarityMetrics" in version for version in versions)
    name = compared["changes"][0]["evaluation"]
    read = get_evaluation(service, GetEvaluationTool(name=name))
    assert read["lastCompletedResult"]["name"].startswith(name)
    versions = read["aggregatedMetrics"]["metricsByAppVersion"]
    counts = {version["appVersionId"]: version.get("passCount", 0) for version in versions}
    change = compared["changes"][0]
    assert counts == {ids[0]: change.get("baselinePassCount", 0), ids[1]: change.get("candidatePassCount", 0)}


def copies(sample, directory, count):
    """Writes the sample's conversations many times, each time under other ids, into several files."""
    lines = (sample / "conversations/ces.jsonl").read_text().splitlines()
    for number in range(count):
        told = [json.loads(line) for line in lines if line.endswith("}")]
        for one in told:
            if "name" in one:
                one["name"] += f"-{number}"
        write(directory / f"{number}.jsonl", *told)
    return directory


def test_many_workers_write_at_once(sample, postgres_url, tmp_path):
    store = open_store(postgres_url)
    fill_with_cases(store, sample)
    logs = copies(sample, tmp_path / "logs", 6)
    run = ["run", "--input", logs, "--eval_cases", postgres_url, *PLAIN, "--output", tmp_path / "out"]
    workers = ("--workers", "2")
    done = forked.run([*run, "--store", postgres_url, *workers], ROOT)
    assert done.returncode == 0, done.stderr.decode()
    counts = json.loads((tmp_path / "out/run.json").read_text())["counts"]
    files = [path.read_text().splitlines() for path in files_of(tmp_path / "out", "results")]
    assert len(files) > 1
    written = [json.loads(line)["name"] for lines in files for line in lines]
    assert len(written) == counts["results"] > 150
    found = stored(store, RESULTS)
    assert len(found) == len(written)
    assert set(map(unmarked, found)) == {name.rpartition("/")[2] for name in written}
    store.close()


def test_a_store_that_fails_fails_the_run_in_one_line(turnwise, sample_arguments, sqlite_url, tmp_path):
    store = open_store(sqlite_url, create=True)
    trigger = "CREATE TRIGGER full BEFORE INSERT ON result_rows BEGIN SELECT RAISE(ABORT, 'it is full'); END"
    store.write(lambda connection: connection.execute(text(trigger)))
    done = turnwise(*sample_arguments, *PLAIN, "--store", sqlite_url, output=tmp_path / "out")
    assert done.status == 1
    assert done.err.count("\n") == 1 and "it is full" in done.err
    assert stored(store, RESULTS) == {}
    store.close()


def test_a_relative_store_is_the_same_everywhere(sample, tmp_path):
    logs = sample.absolute() / "conversations/adk.evalset_result.json"
    run = ["run", "--input", logs, *PLAIN, "--output", "out", "--store", "sqlite:///s.db"]
    assert forked.run(run, tmp_path).returncode == 0
    assert json.loads((tmp_path / "out/run.json").read_text())["store"] == f"sqlite:///{tmp_path}/s.db"
    store = open_store(f"sqlite:///{tmp_path}/s.db")
    assert stored(store, RESULTS)
    store.close()


def test_a_run_loads_no_database_and_no_messages_that_it_does_not_read(sample, tmp_path):
    arguments = ["run", "--input", str(sample / "conversations"), "--output", str(tmp_path / "o"), *PLAIN]
    code = (
        f"import sys; from turnwise.pipeline.cli.main import main; main({arguments!r});"
        f"print([name for name in {LOADED_LATE} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stderr.endswith("[]\n")


def test_display_names_are_unique_within_an_evaluation(turnwise, store, store_url, tmp_path):
    ids = {"conversation_id": "c", "eval_id": "e", "turns": [{"user": "hi", "agent": "hello"}]}
    logs = write(tmp_path / "log.jsonl", *(ids | {"app_version": version} for version in ("v1", "v2")))
    cases = write(tmp_path / "cases.json", {"eval_id": "e", "turns": [{"user": "hi", "response": "hello"}]})
    for place in ("first", "second"):
        arguments = ("run", "--input", logs, "--eval_cases", cases, *PLAIN, "--store", store_url)
        done = turnwise(*arguments, output=tmp_path / place)
        in_files = {row["displayName"] for row in done.rows("results")}
        assert done.status == 0 and in_files == {"e result (v1) - c", "e result (v2) - c"}
    names = {result["displayName"] for result in stored(store, RESULTS).values()}
    assert len(names) == 4 and all(name.startswith("e result - c (run-") for name in names)
