"""The MCP interface, to the SDK's own client: over both transports, and inside the process."""

import asyncio
import http.client
import json
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import jsonschema
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from tests.pipeline.service.conftest import APP, GOLDEN, Given
from turnwise.pipeline.service.http import Workers
from turnwise.pipeline.service.mcp import mcp_server
from turnwise.pipeline.service.runs import Service
from turnwise.pipeline.store.database import open_store

ROOT = Path(__file__).parents[3]
READING, CHANGING = (True, False, True, False), (False, False, False, False)
"""Hints of a tool: read only, destructive, idempotent, open world."""
HINTS = {
    **{"update_evaluation": CHANGING, "get_evaluation_result": READING, "get_evaluation": READING},
    **{"list_evaluations": READING, "list_evaluation_results": READING, "create_evaluation": CHANGING},
    **{"list_evaluation_revisions": READING, "restore_evaluation": CHANGING, "compare_app_versions": READING},
    **dict.fromkeys(("compare_evaluation_runs", "list_conversations_to_read", "get_conversation"), READING),
    **dict.fromkeys(("list_evaluation_runs", "get_criterion_trend", "get_failures"), READING),
}


def fill(store, failures=0):
    """Writes 25 results of version v7, half of them failed, and 3 of v8, all passed; returns them."""
    given = Given(Service(store, "tester"))
    results = [given.put_result(n, "PASS" if n % 2 else "FAIL") for n in range(25)]
    results += [given.put_result(n, version="v8") for n in range(25, 28)]
    rejected = {"stage": "match", "error_type": "UnknownCaseError", "source": "log", "record": "r" * 500}
    if failures:
        given.put_failures(
            "run-1", *({**rejected, "message": f"no case {n}", "position": n} for n in range(failures))
        )
    return results


@pytest.fixture
def store(sqlite_url):
    """Returns an empty store: what the tools do with either kind is tested elsewhere."""
    opened = open_store(sqlite_url, create=True)
    yield opened
    opened.close()


class Tools:
    """Calls tools of a connected client."""

    def __init__(self, client):
        self.client = client

    async def __call__(self, tool, **arguments):
        """Returns the structured answer, which is in the text as well."""
        called = await self.client.call_tool(tool, arguments)
        (block,) = called.content
        assert not called.is_error, block.text
        assert json.loads(block.text) == called.structured_content
        return called.structured_content

    async def refused(self, tool, **arguments):
        """Returns status and field of the error that a tool answers with."""
        called = await self.client.call_tool(tool, arguments)
        assert called.is_error and called.structured_content is None
        error = json.loads(called.content[0].text)["error"]
        details = error.get("details", [{"fieldViolations": [{"field": ""}]}])
        return error["status"], details[0]["fieldViolations"][0]["field"]


async def a_whole_session(tools, results):
    """Calls each tool once; what they answer in detail is tested elsewhere."""
    evaluation = {"displayName": "One", "golden": GOLDEN, "tags": ["slow"], "description": "words"}
    made = await tools("create_evaluation", parent=APP, evaluationId="one", evaluation=evaluation)
    name = made["name"]
    changed = {"name": name, "displayName": "New", "etag": made["etag"]}
    after = await tools("update_evaluation", evaluation=changed, updateMask="displayName,description")
    assert after["displayName"] == "New" and "description" not in after and after["golden"] == GOLDEN
    stale = await tools.refused("update_evaluation", evaluation=changed, updateMask="displayName")
    assert stale == ("ABORTED", "evaluation.etag")
    parts = await tools("list_evaluation_revisions", name=name, readMask="evaluation.displayName")
    told = [one["evaluation"] for one in parts["revisions"]]
    assert told == [{"displayName": "New"}, {"displayName": "One"}]
    restored = await tools("restore_evaluation", name=name, revision=1, etag=after["etag"])
    assert restored["displayName"] == "One" and restored["description"] == "words"
    read = await tools("get_evaluation", name=name)
    assert [v["appVersionId"] for v in read["aggregatedMetrics"]["metricsByAppVersion"]] == ["v7", "v8"]
    assert await tools("get_evaluation_result", name=f"{name}/results/r-0003") == results[3]
    listed = await tools("list_evaluations", parent=APP, evaluationFilter="tags:slow")
    assert [one["displayName"] for one in listed["evaluations"]] == ["One"]
    page = await tools("list_evaluation_results", parent=name, orderBy="create_time")
    token = page["nextPageToken"]
    rest = await tools("list_evaluation_results", parent=name, orderBy="create_time", pageToken=token)
    found = [one["name"] for one in page["evaluationResults"] + rest["evaluationResults"]]
    assert found == [result["name"] for result in reversed(results)]
    compared = await tools("compare_app_versions", parent=APP, baselineVersion="v7", candidateVersion="v8")
    assert compared["changes"][0]["change"] == "fixed" and compared["candidate"]["passRate"] == 1
    failures = await tools("get_failures", parent=APP, filter="stage = match")
    assert [one["errorType"] for one in failures["failures"]] == ["UnknownCaseError"] * 3
    with pytest.raises(MCPError, match="Unknown tool"):
        await tools.client.call_tool("delete_evaluation", {})


@pytest.mark.parametrize(("transport", "mode"), [("http", "legacy"), ("stdio", "auto")])
def test_a_client_of_the_sdk(start, sqlite_url, transport, mode):
    server = start(store_url=sqlite_url)
    results = fill(server.store, 3)
    arguments = ["-m", "turnwise", "serve", "--stdio", "--store", sqlite_url]
    stdio = StdioServerParameters(command=sys.executable, args=arguments, cwd=ROOT)

    async def talk():
        async with Client(f"{server.url}/mcp" if transport == "http" else stdio, mode=mode) as client:
            listed = await client.list_tools()
            assert [tool.name for tool in listed.tools] == list(HINTS)
            await a_whole_session(Tools(client), results)

    asyncio.run(talk())
    assert server.stop() == ""


def test_the_command_line_of_the_official_inspector(start, sqlite_url, tmp_path):
    if shutil.which("npx") is None:
        pytest.skip("needs npx")

    def output_of(*command):
        return subprocess.run(command, capture_output=True, text=True, timeout=180, cwd=tmp_path)

    package = "--package=@modelcontextprotocol/inspector@2.12.0"
    try:
        installed = output_of("npx", "--yes", package, "-c", "command -v mcp-inspector")
    except subprocess.TimeoutExpired:
        pytest.skip("npm does not answer")
    if installed.returncode:
        pytest.skip("needs the Inspector from npm")
    # npx itself takes as long as the Inspector does, so it runs only once.
    inspect = partial(output_of, installed.stdout.strip(), "--cli")
    server = start(store_url=sqlite_url)
    address = (f"{server.url}/mcp", "--transport", "http", "--method")

    def call(tool, **arguments):
        sent = [part for key, value in arguments.items() for part in ("--tool-arg", f"{key}={value}")]
        called = inspect(*address, "tools/call", "--tool-name", tool, *sent)
        answer = json.loads(called.stdout)
        assert (called.returncode, called.stderr, answer["isError"]) == (0, "", False), called.stdout
        return answer["structuredContent"]

    tools = inspect(*address, "tools/list", "--strict")
    assert (tools.returncode, tools.stderr) == (0, "")
    assert [one["name"] for one in json.loads(tools.stdout)["tools"]] == list(HINTS)
    document = json.dumps({"displayName": "One", "golden": GOLDEN})
    name = call("create_evaluation", parent=APP, evaluationId="one", evaluation=document)["name"]
    results = fill(server.store)
    renamed = json.dumps({"name": name, "displayName": "New"})
    changed = call("update_evaluation", evaluation=renamed, updateMask="displayName")
    assert changed["displayName"] == "New" and changed["golden"] == GOLDEN
    assert call("get_evaluation_result", name=f"{name}/results/r-0003") == results[3]
    assert len(call("get_evaluation", name=name, lastTenResults="true")["lastTenResults"]) == 10


def inside(service, work):
    """Does `work` with a client of a server inside the process."""

    async def talk():
        async with Client(mcp_server(service, Workers())) as client:
            return await work(Tools(client))

    return asyncio.run(talk())


def listed(service):
    found = inside(service, lambda tools: tools.client.list_tools())
    return {tool.name: tool for tool in found.tools}


def fields_of(schema):
    """All fields of a tool's schema, but those that an alternative only names."""
    for kind in (schema, *schema.get("$defs", {}).values()):
        yield from kind.get("properties", {}).items()


def test_every_tool_says_in_few_words_what_it_and_each_of_its_fields_does(service):
    for name, tool in listed(service).items():
        hints = tool.annotations
        found = hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint
        assert found == HINTS[name]
        assert 40 < len(tool.description) < 900 and "\n" not in tool.description
        assert set(tool.input_schema.get("required", ())) <= set(tool.input_schema["properties"])
        assert len(tool.model_dump_json(by_alias=True, exclude_none=True).encode()) <= 40_000
        for schema in (tool.input_schema, tool.output_schema):
            jsonschema.Draft202012Validator.check_schema(schema)
            fields = dict(fields_of(schema))
            assert fields and all(3 < len(field["description"]) < 200 for field in fields.values())
            references = set(re.findall(r'"#/\$defs/([^"]+)"', json.dumps(schema)))
            assert references == set(schema.get("$defs", {}))
            assert set(re.findall(r'"format": "([^"]+)"', json.dumps(schema))) <= {"date-time"}
            objects = [schema["$defs"][key].get("type") == "object" for key in references]
            assert json.dumps(schema).count('"type": "object", "$ref"') >= sum(objects)
    for name in ("get_evaluation", "update_evaluation", "create_evaluation", "restore_evaluation"):
        schema = listed(service)[name].output_schema
        last, ten = (schema["properties"][key] for key in ("lastCompletedResult", "lastTenResults"))
        assert {key: last[key] for key in ("type", "$ref")} == ten["items"]
        assert "evaluationStatus" in schema["$defs"]["EvaluationResult"]["properties"]
    assert listed(service)["update_evaluation"].input_schema["required"] == ["evaluation"]
    assert "Always pass updateMask" in listed(service)["update_evaluation"].description


def test_the_call_as_it_is_documented(server, sample):
    document = sample("golden_rebooking__Evaluation")
    parent, _, last = document["name"].rpartition("/evaluations/")
    server.call("POST", f"/v1beta/{parent}/evaluations?evaluationId={last}", document)
    arguments = {
        "evaluation": {"name": document["name"], "displayName": "N", "tags": ["t"]},
        "updateMask": "displayName,tags",
    }
    params = {"name": "update_evaluation", "arguments": arguments}
    body = {"method": "tools/call", "params": params, "jsonrpc": "2.0", "id": 1}
    code, answer = server.call("POST", "/mcp", body, Accept="application/json, text/event-stream")
    assert (code, answer["id"], answer["result"]["isError"]) == (200, 1, False)
    updated = answer["result"]["structuredContent"]
    assert (updated["displayName"], updated["tags"], updated["golden"]) == ("N", ["t"], document["golden"])


@pytest.mark.parametrize(("body", "code"), [(b"[" * 100_000, 400), (b'{"jsonrpc": "2.0", "id": 1}', 400)])
def test_malformed_messages(server, body, code):
    found, answer = server.call("POST", "/mcp", body, Accept="application/json, text/event-stream")
    assert found == code and "Traceback" not in str(answer)


def test_large_messages_are_not_even_read(server):
    host, port = server.url.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port))
    connection.putrequest("POST", "/mcp")
    for header, value in (("Content-Type", "application/json"), ("Content-Length", "5000000")):
        connection.putheader(header, value)
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()
