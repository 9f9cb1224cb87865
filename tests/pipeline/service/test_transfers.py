"""Evaluations are imported and exported, and made of conversations."""

import io
import json
import zipfile
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from functools import partial
from threading import Event
from time import sleep
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from tests import object_store
from tests.object_store import OBJECTS, StoredObject
from turnwise.pipeline.service.errors import ServiceError
from turnwise.pipeline.service.evaluations import get_evaluation
from turnwise.pipeline.service.operations.methods import cancel_operation, get_operation
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.service.transfer.documents import ExportedDocument, File, files_of, records_of, zipped
from turnwise.pipeline.service.transfer.exporting import (
    export_evaluation_results,
    export_evaluation_runs,
    export_evaluations,
)
from turnwise.pipeline.service.transfer.importing import import_evaluations
from turnwise.pipeline.service.transfer.table import table_evaluations
from turnwise.pipeline.service.transfer.waiting import bounded
from turnwise.pipeline.store.evaluations import find_evaluation
from turnwise.pipeline.store.tables import EVALUATIONS
from turnwise.schemas.ces.transfers import (
    ExportEvaluationResultsRequest,
    ExportEvaluationRunsRequest,
    ExportEvaluationsRequest,
    ExportFormat,
    ImportEvaluationsRequest,
)
from turnwise.schemas.config import CesConfig
from turnwise.schemas.record import Record
from turnwise.transforms.formats.readers import CaseReader

APP = "projects/acme-cx/locations/us/apps/travel-desk"
OTHER = "projects/acme-cx/locations/us/apps/other"
HEADER = (
    "display_name,turn_index,action_type,text_content,response_agent,tool_name,args_json,expectation_note"
)
GOLDEN: Any = {
    "turns": [
        {
            "steps": [
                {"userInput": {"text": "1.0"}},
                {
                    "expectation": {
                        "toolCall": {"tool": "t", "args": {"a": [1.5, None, "yes", {"b": "2026-01-01"}]}}
                    }
                },
                {"expectation": {"agentResponse": {"role": "agent", "chunks": [{"text": "no: \u2028 #x"}]}}},
            ]
        }
    ]
}


@pytest.fixture(autouse=True)
def ended(service: Service) -> Iterator[None]:
    """Stops the threads of the service, and empties the object store."""
    yield
    service.jobs.close()
    object_store.clear()


def done(service: Service, operation: Any) -> Any:
    for _ in range(1000):
        value = get_operation(service, operation["name"])
        if value.get("done"):
            return value
        sleep(0.01)
    raise AssertionError("it is not done")


def imported(service: Service, **fields: Any) -> Any:
    request = ImportEvaluationsRequest.from_value({"parent": APP, **fields})
    return done(service, import_evaluations(service, request))


def exported(service: Service, *ids: str, **fields: Any) -> Any:
    names = [f"{APP}/evaluations/{each}" for each in ids]
    value = {"parent": APP, "names": names, "includeEvaluations": True, **fields}
    return done(service, export_evaluations(service, ExportEvaluationsRequest.from_value(value)))


def table(*rows: str, header: str = HEADER) -> str:
    return b64encode("\n".join((header, *rows)).encode()).decode()


def unzipped(content: str) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(b64decode(content))) as file:
        return {name: file.read(name) for name in file.namelist()}


def content_of(service: Service, name: str) -> Any:
    value = get_evaluation(service, name)
    return {
        key: value[key]
        for key in ("displayName", "description", "tags", "golden", "scenario")
        if key in value
    }


@pytest.mark.parametrize("form", ["JSON", "YAML"])
def test_what_is_exported_is_imported_as_it_was(
    service: Service, create: Callable[..., Any], form: str
) -> None:
    create("one", golden=GOLDEN, tags=["a", "true"], description="- x\n- y")
    create(
        "two", scenario={"task": "book", "rubrics": ["is polite"], "variableOverrides": {"a": [1.0, None]}}
    )
    value = exported(service, "one", "two", exportOptions={"exportFormat": form})
    content = value["response"]["evaluationsContent"]
    assert sorted(unzipped(content)) == [f"evaluations/{name}.{form.lower()}" for name in ("one", "two")]
    OBJECTS["objects://bucket/all.zip"] = StoredObject(b64decode(content), 0.0)
    request = ImportEvaluationsRequest.from_value({"parent": OTHER, "gcsUri": "objects://bucket/all.zip"})
    response = done(service, import_evaluations(service, request))["response"]
    assert [one["name"] for one in response["evaluations"]] == [
        f"{OTHER}/evaluations/{n}" for n in ("one", "two")
    ]
    assert response.keys() == {"@type", "evaluations"}
    for name in ("one", "two"):
        assert content_of(service, f"{OTHER}/evaluations/{name}") == content_of(
            service, f"{APP}/evaluations/{name}"
        )


TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60)
@given(
    value=st.dictionaries(TEXTS, VALUES, max_size=4),
    form=st.sampled_from([ExportFormat.JSON, ExportFormat.YAML]),
)
def test_every_document_is_read_back_as_it_was(value: Any, form: ExportFormat) -> None:
    (file,) = files_of("x.zip", zipped([ExportedDocument("evaluations/a", value)], form))
    assert json.dumps(records_of(file)) == json.dumps([value])


def test_a_result_and_a_run_are_exported_with_all_that_they_hold(
    service: Service, create: Callable[..., Any], put_result: Callable[..., Any]
) -> None:
    create("one")
    result = put_result(1)
    request = {"parent": f"{APP}/evaluations/one", "names": [result["name"]]}
    operation = export_evaluation_results(service, ExportEvaluationResultsRequest.from_value(request))
    files = unzipped(done(service, operation)["response"]["evaluationResultsContent"])
    assert {name: json.loads(text) for name, text in files.items()} == {
        "evaluationResults/one/r-0001.json": result
    }
    request = {"parent": APP, "names": [f"{APP}/evaluationRuns/nightly"]}
    operation = export_evaluation_runs(service, ExportEvaluationRunsRequest.from_value(request))
    files = unzipped(done(service, operation)["response"]["evaluationRunsContent"])
    assert json.loads(files["evaluationRuns/nightly.json"])["evaluationResults"] == [result["name"]]
    both = exported(service, "one", includeEvaluationResults=True)["response"]["evaluationsContent"]
    assert sorted(unzipped(both)) == ["evaluationResults/one/r-0001.json", "evaluations/one.json"]
    OBJECTS["objects://bucket/all.zip"] = StoredObject(b64decode(both), 0.0)
    options = {"conflictResolutionStrategy": "SKIP"}
    response = imported(service, gcsUri="objects://bucket/all.zip", importOptions=options)["response"]
    assert response["evaluationResultImportFailureCount"] == 1 and "importFailureCount" not in response
    assert response["errorMessages"] == ["evaluationResults/one/r-0001.json: results are not imported"]


def test_what_cannot_be_exported_is_said(service: Service, create: Callable[..., Any]) -> None:
    create("one")
    response = exported(service, "one", "none")["response"]
    none = f"{APP}/evaluations/none"
    assert response["failedEvaluations"] == {none: f"{none} was not found"}
    assert sorted(unzipped(response["evaluationsContent"])) == ["evaluations/one.json"]
    assert exported(service, "none")["error"]["code"] == 5
    runs = {"parent": APP, "names": [f"{APP}/evaluationRuns/none"]}
    operation = export_evaluation_runs(service, ExportEvaluationRunsRequest.from_value(runs))
    assert done(service, operation)["error"]["code"] == 5


def test_exports_are_written_to_a_place_and_read_from_it(
    service: Service, create: Callable[..., Any]
) -> None:
    create("one", golden=GOLDEN)
    options = {"gcsUri": "objects://bucket/exports"}
    uris = [exported(service, "one", exportOptions=options)["response"]["evaluationsUri"] for _ in range(2)]
    assert len({*uris}) == 2 and {*uris} == {*OBJECTS}
    uri = uris[0]
    assert uri.startswith("objects://bucket/exports/evaluations-") and uri.endswith(".zip")
    options = {"conflictResolutionStrategy": "DUPLICATE"}
    (made,) = imported(service, gcsUri=uri, importOptions=options)["response"]["evaluations"]
    assert made["displayName"] == "Case one (2)" and made["golden"] == GOLDEN
    assert imported(service, gcsUri="objects://bucket/none.zip")["error"]["code"] == 3


STRATEGIES: list[tuple[str, list[str], str]] = [
    ("CONFLICT_RESOLUTION_STRATEGY_UNSPECIFIED", [], "exists already"),
    ("OVERWRITE", ["one"], ""),
    ("SKIP", [], ""),
    ("DUPLICATE", ["another"], ""),
]


@pytest.mark.parametrize(("strategy", "names", "said"), STRATEGIES, ids=[each[0] for each in STRATEGIES])
def test_conflicts_end_as_the_strategy_says(
    service: Service, create: Callable[..., Any], strategy: str, names: list[str], said: str
) -> None:
    old = create("one")
    record = {"name": f"{OTHER}/evaluations/one", "displayName": "Case one", "golden": GOLDEN}
    OBJECTS["objects://b/one.json"] = StoredObject(json.dumps(record).encode(), 0.0)
    options = {"conflictResolutionStrategy": strategy}
    response = imported(service, gcsUri="objects://b/one.json", importOptions=options)["response"]
    found = [one["name"].rsplit("/", 1)[-1] for one in response.get("evaluations", [])]
    assert [name if name == "one" else "another" for name in found] == names
    assert said in "".join(response.get("errorMessages", [])) and bool(said) == (
        "importFailureCount" in response
    )
    now = get_evaluation(service, old["name"])
    assert now["golden"] == (GOLDEN if strategy == "OVERWRITE" else old["golden"])
    assert (now["etag"] == old["etag"]) == (strategy != "OVERWRITE")


def test_a_table_becomes_goldens(service: Service) -> None:
    content = table(
        "Refund,,,,,,,",
        ",1,INPUT_TEXT,hello,,,,",
        ',1,EXPECTATION_TOOL_CALL,,,find,"{""id"": ""a""}",',
        ',1,EXPECTATION_TEXT,"Hi,\nyou",desk,,,greets',
        ",2,INPUT_TEXT,bye,,,,",
        "Other,1,INPUT_TEXT,x,,,,",
    )
    response = imported(service, csvContent=content)["response"]
    refund, other = response["evaluations"]
    assert (refund["displayName"], other["displayName"]) == ("Refund", "Other")
    first, second = refund["golden"]["turns"]
    assert first["steps"] == [
        {"userInput": {"text": "hello"}},
        {"expectation": {"toolCall": {"tool": "find", "args": {"id": "a"}}}},
        {
            "expectation": {
                "note": "greets",
                "agentResponse": {"role": "desk", "chunks": [{"text": "Hi,\nyou"}]},
            }
        },
    ]
    assert second["steps"] == [{"userInput": {"text": "bye"}}]
    again = imported(service, csvContent=content)["response"]
    assert again["importFailureCount"] == 2 and "evaluations" not in again


WRONG_ROWS = {
    "Case,1,EXPECTATION_PAYLOAD,x,,,,": "line 2: the action_type 'EXPECTATION_PAYLOAD' is not supported",
    "Case,1,,x,,,,": "line 2: without action_type, text_content says nothing",
    "Case,,,,,,,\n,1,,x,,,,": "line 3: action_type is missing",
    "Case,0,INPUT_TEXT,x,,,,": "turn_index must be a number from 1",
    "Case,x,INPUT_TEXT,x,,,,": "turn_index must be a number from 1",
    "Case,1,INPUT_TEXT,,,,,": "text_content is missing",
    "Case,1,INPUT_TEXT,x,,find,,": "a row of the type INPUT_TEXT has no tool_name",
    "Case,1,INPUT_TEXT,x,,,,,y": "more cells than the header",
    "Case,1,EXPECTATION_TOOL_CALL,,,find,[1],": "args_json: a JSON object is needed",
    "Case,2,INPUT_TEXT,x,,,,\n,1,INPUT_TEXT,x,,,,": "turn_index: 1 stands below 2",
    "Case,,,,,,,": "has no rows of a turn",
    ",1,INPUT_TEXT,x,,,,": "no display_name",
}


def test_wrong_rows_are_said_and_the_others_imported(service: Service) -> None:
    for row, said in WRONG_ROWS.items():
        (found,) = table_evaluations(f"{HEADER}\n{row}".encode())
        assert isinstance(found[1], ValueError) and said in f"{found[0]}: {found[1]}", row
    response = imported(service, csvContent=table("A,1,JUMP,x,,,,", "B,1,INPUT_TEXT,x,,,,"))["response"]
    assert [one["displayName"] for one in response["evaluations"]] == ["B"]
    assert response["importFailureCount"] == len(response["errorMessages"]) == 1


REPEATED: list[tuple[tuple[str, ...], list[str], str]] = [
    (("A,1,INPUT_TEXT,x,,,,", "A,2,INPUT_TEXT,y,,,,", "B,1,INPUT_TEXT,x,,,,"), ["B"], "lines 2 and 3"),
    (
        ("A,1,INPUT_TEXT,x,,,,", "B,1,INPUT_TEXT,x,,,,", "A,,,,,,,", "A,2,JUMP,y,,,,"),
        ["B"],
        "lines 2, 4 and 5",
    ),
]


def test_rows_that_repeat_a_display_name_are_refused(service: Service) -> None:
    for rows, names, said in REPEATED:
        for strategy in ("OVERWRITE", "DUPLICATE"):
            options = {"conflictResolutionStrategy": strategy}
            response = imported(service, csvContent=table(*rows), importOptions=options)["response"]
            assert [one["displayName"].partition(" ")[0] for one in response["evaluations"]] == names
            assert response["importFailureCount"] == len(response["errorMessages"]) == 1
            assert said in response["errorMessages"][0]


def test_a_golden_that_begins_twice_in_a_file_of_cases_is_a_failure() -> None:
    rows = [{"display_name": name, "turn_index": 1, "action_type": "INPUT_TEXT"} for name in "aba"]
    first, other = CaseReader(CesConfig()).read(Record("cases.csv", 1, json.dumps(rows).encode()))
    assert isinstance(first, ValueError) and "rows 1 and 3 have the same display_name" in str(first)
    assert not isinstance(other, ValueError) and other.eval_id == "b"


def archive(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in files.items():
            file.writestr(name.replace("_", "."), content)
    return buffer.getvalue()


def evaluation(name: str = "", display_name: str = "") -> bytes:
    named = {"name": f"{OTHER}/evaluations/{name}"} if name else {}
    return json.dumps({**named, "displayName": display_name or name, "golden": GOLDEN}).encode()


def test_a_bad_part_ends_neither_the_parts_before_nor_those_after(service: Service) -> None:
    header_only = HEADER.encode()
    files = {"a_json": evaluation("a"), "b_csv": b"\xff", "c_csv": header_only, "d_json": evaluation("d")}
    OBJECTS["objects://b/all.zip"] = StoredObject(archive(**files), 0.0)
    response = imported(service, gcsUri="objects://b/all.zip")["response"]
    assert [one["displayName"] for one in response["evaluations"]] == ["a", "d"]
    assert response["importFailureCount"] == 2
    wrong, empty = response["errorMessages"]
    assert wrong.startswith("b.csv: is no CSV") and empty == "c.csv: the table has a header and no evaluation"


def test_evaluations_that_a_source_holds_twice_are_not_imported(service: Service) -> None:
    files = {"a_json": evaluation("a"), "b_json": evaluation("a", "b"), "c_json": evaluation("c")}
    files |= {"d_json": evaluation("", "c"), "e_json": evaluation("e")}
    OBJECTS["objects://b/all.zip"] = StoredObject(archive(**files), 0.0)
    options = {"conflictResolutionStrategy": "OVERWRITE"}
    response = imported(service, gcsUri="objects://b/all.zip", importOptions=options)["response"]
    assert [one["displayName"] for one in response["evaluations"]] == ["e"]
    said = [line.partition(": ")[2] for line in response["errorMessages"]]
    assert (
        said
        == ["a.json and b.json have the same id 'a'"] * 2
        + ["c.json and d.json have the same displayName 'c'"] * 2
    )
    assert response["importFailureCount"] == 4


def test_an_import_that_is_cancelled_says_what_it_imported(service: Service) -> None:
    lines = b"\n".join(evaluation(f"e{number}") for number in range(2000))
    OBJECTS["objects://b/all.json"] = StoredObject(lines, 0.0)
    request = ImportEvaluationsRequest.from_value({"parent": APP, "gcsUri": "objects://b/all.json"})
    operation = import_evaluations(service, request)
    first = f"{APP}/evaluations/e0"
    while not service.store.read(lambda connection: find_evaluation(connection, first)):
        sleep(0.01)
    cancel_operation(service, operation["name"])
    error = done(service, operation)["error"]
    count = service.store.read(lambda c: c.execute(select(func.count()).select_from(EVALUATIONS)).scalar())
    assert error == {"code": 1, "message": f"it was cancelled; it had imported {count} evaluations"}


def test_an_import_or_export_of_nothing_is_an_error(service: Service, create: Callable[..., Any]) -> None:
    create("one")
    OBJECTS["objects://b/none.zip"] = StoredObject(archive(), 0.0)
    error = imported(service, gcsUri="objects://b/none.zip")["error"]
    assert error == {"code": 3, "message": "gcsUri: the zip file holds no file"}
    only = {"includeEvaluations": False, "includeEvaluationResults": True}
    error = exported(service, "one", **only)["error"]
    assert error["code"] == 5 and f"no result of {ONE} was found" in error["message"]


def test_work_that_takes_too_long_is_not_waited_for() -> None:
    held = Event()
    with pytest.raises(TimeoutError, match="no answer within"):
        bounded(held.wait, 0.01)
    held.set()
    assert bounded(lambda: 1, 60) == 1
    with pytest.raises(ValueError, match="wrong"):
        bounded(partial(int, "wrong"), 60)


WRONG_TABLES: list[tuple[bytes, str]] = [
    (b"display_name,action_type,turn_index\n", "the first columns must be"),
    (b"display_name,turn_index,action_type,colour\n", "unknown column 'colour'"),
    (b"display_name,turn_index,action_type,text_content,text_content\n", "stands twice"),
    (b"", "the first columns must be"),
    (b"\xff\xfe", "is no CSV"),
    (b'display_name,turn_index,action_type\n"x', "is no CSV"),
    (b"display_name,turn_index,action_type\n", "has a header and no evaluation"),
    (b"display_name,turn_index,action_type\n,,\n\n", "has a header and no evaluation"),
]


def test_what_is_no_such_table_is_refused(service: Service) -> None:
    for content, said in WRONG_TABLES:
        error = imported(service, csvContent=b64encode(content).decode())["error"]
        assert error["code"] == 3 and said in error["message"]


FILES: list[tuple[str, bytes, str]] = [
    ("a.json", b"{", "cannot be read"),
    ("a.json", b'{"displayName": "x", "displayName": "y"}', "stands twice"),
    ("a.json", b'{"displayName": "x", "golden": {"turns": []}, "colour": 1}', "no such field"),
    ("a.json", b'{"displayName": NaN}', "not JSON compliant"),
    ("a.json", b"[1]", "is no JSON object"),
    ("a.json", b"[]", "it holds no evaluation"),
    ("a.json", b"\xff", "cannot be read"),
    ("a.json", b'{"displayName": "x"}', "golden or scenario is required"),
    ("a.yaml", b"!!python/object/apply:os.system [ls]", "cannot be read"),
    ("a.yaml", b"displayName: x\ndisplayName: y\n", "stands twice"),
    ("a.yaml", b"", "the file is empty"),
    ("a.yaml", b"# nothing\n---\n", "the file is empty"),
    ("a.yaml", b"displayName: 2026-01-01\n", "that JSON has not"),
    (
        "a.yaml",
        b"a: &a [x,x,x,x,x,x,x,x,x,x]\n"
        + b"".join(b"%c: &%c [%s]\n" % (n + 1, n + 1, b",".join([b"*%c" % n] * 10)) for n in range(97, 101)),
        "aliases stand for more than",
    ),
]


def test_broken_files_are_said(service: Service) -> None:
    for name, content, said in FILES:
        OBJECTS[f"objects://b/{name}"] = StoredObject(content, 0.0)
        response = imported(service, gcsUri=f"objects://b/{name}")["response"]
        assert response["importFailureCount"] == 1 and "evaluations" not in response
        assert said in response["errorMessages"][0], (name, content, response)


WRONG_IMPORTS: list[tuple[Any, str]] = [
    ({}, "one of"),
    ({"gcsUri": "/etc/passwd"}, "must be a URI"),
    ({"gcsUri": "file:///etc/passwd"}, "must be a URI"),
    ({"gcsUri": "sqlite:///x.db"}, "must be a URI"),
    ({"gcsUri": "ftp://x/y"}, "unknown file system"),
    ({"gcsUri": "s3://x/y"}, "not installed"),
    ({"conversationList": {}}, "is required"),
    ({"conversationList": {"conversations": ["x"]}}, "is not of the form"),
    ({"csvContent": "", "parent": "x"}, "is not of the form"),
    ({"csvContent": "", "importOptions": {"conflictResolutionStrategy": 9}}, "is none of"),
]


def test_wrong_imports_are_refused_before_they_begin(service: Service) -> None:
    for fields, said in WRONG_IMPORTS:
        request = ImportEvaluationsRequest.from_value({"parent": APP, **fields})
        with pytest.raises(ServiceError, match=said):
            import_evaluations(service, request)


ONE = f"{APP}/evaluations/one"
WRONG_EXPORTS: list[tuple[Any, str]] = [
    ({"includeEvaluations": False}, "must be true"),
    ({"names": []}, "is required"),
    ({"names": [ONE, ONE]}, "twice"),
    ({"names": [f"{OTHER}/evaluations/one"]}, "is not in"),
    ({"names": ["x"]}, "is not of the form"),
    ({"exportOptions": {"exportFormat": 7}}, "neither JSON nor YAML"),
    ({"exportOptions": {"gcsUri": "/tmp"}}, "must be a URI"),
]


def test_wrong_exports_are_refused_before_they_begin(service: Service) -> None:
    for fields, said in WRONG_EXPORTS:
        value = {"parent": APP, "names": [ONE], "includeEvaluations": True, **fields}
        with pytest.raises(ServiceError, match=said):
            export_evaluations(service, ExportEvaluationsRequest.from_value(value))


def test_broken_and_bombing_zip_files_are_refused() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for number in range(3):
            file.writestr(f"{number}.json", b" " * (30 * 1024 * 1024))
    with pytest.raises(ServiceError, match="larger than 64 MiB"):
        files_of("x.zip", buffer.getvalue())
    with pytest.raises(ServiceError, match="cannot be unpacked"):
        files_of("x.zip", b"PK broken")
    assert files_of("x.json", b"{}") == [File("x.json", b"{}")]
