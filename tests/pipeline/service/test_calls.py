"""Calls of the service as data: what is stored, what is called, and what comes of it.

Each line of `calls/*.jsonl` has `steps`, one after the other. What one `do`es is a method of the REST
interface, a tool of the MCP server (`mcp NAME` where both have the name), a function of `Given` in
conftest.py, or the command `compare`; `with` are its arguments, and `rows` those of several calls of a
function. `$APP` stands for an app, which is the parent where none is named, `$3.etag` for a field of what
came of step 3, and `$.etag` of this one. Of the answer, `answer` names parts (`part` in tests/tables.py),
`is` all, `ids` the last parts of the names in its list, `notes` those of its verdict; it may be `shorter`
than a number of bytes. `not` and `later` are fields that differ, or come after another time. `refused` holds
status and field of the error, and what its message says, if need be; nothing is changed then.
"""

import json
import re
from operator import gt, ne

import pytest
from sqlalchemy import select

from tests.pipeline.service.conftest import APP, called_tool
from tests.pipeline.test_commands import check_step
from tests.tables import lines_beside, part
from turnwise.pipeline.service.mcp import TOOLS
from turnwise.pipeline.service.rest import METHODS
from turnwise.pipeline.service.serve import ServiceError, message_error
from turnwise.pipeline.store.database import HISTORY
from turnwise.schemas.proto.message import WireError

METHOD = {method.call.__name__: method for method in METHODS}
LINES = lines_beside(__file__, "calls/*.jsonl")


def filled(value, answers):
    """Returns a value with what the texts that begin with $ stand for."""
    if isinstance(value, dict):
        return {key: filled(item, answers) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, answers) for item in value]
    if not isinstance(value, str):
        return value
    if path := re.fullmatch(r"\$(\d*)((?:\.\w+)*)", value):
        answer = answers[int(path[1] or -1)]
        for key in path[2].split(".")[1:]:
            answer = answer[int(key) if key.isdigit() else key]
        return answer
    return value.replace("$APP", APP)


def called(service, name, fields):
    tool = name.removeprefix("mcp ")
    request = METHOD[name].request if name in METHOD else TOOLS[tool].request
    if "parent" in request.model_fields:
        fields = {"parent": APP, **fields}
    if name not in METHOD:
        return called_tool(service, tool, fields)
    try:
        asked = request.from_value(fields)
    except WireError as error:
        raise message_error(error) from None
    return METHOD[name].call(service, asked)


def check_answer(step, answer, answers):
    wanted = {key: filled(step.get(key, {}), answers) for key in ("answer", "is", "not", "later")}
    assert part(answer, wanted["answer"]) == wanted["answer"], f"{step['do']}: {answer}"
    assert "is" not in step or answer == wanted["is"]
    assert len(json.dumps(answer)) < step.get("shorter", 10**6)
    for note in step.get("notes", ()):
        assert any(part(told, note) == note for told in answer["verdict"]["notes"])
    for key, differs in (("not", ne), ("later", gt)):
        for field, value in wanted[key].items():
            assert differs(answer[field], value), field
    if "ids" in step:
        listed = next((value for value in answer.values() if isinstance(value, list)), [])
        assert [one.get("name", one.get("evaluation")).rpartition("/")[2] for one in listed] == step["ids"]


@pytest.mark.parametrize("name", LINES)
def test_a_call_does_what_is_written(service, given, name, turnwise, store_url):
    answers = []
    for step in LINES[name]["steps"]:
        todo, fields = step["do"], filled(step.get("with", {}), answers)
        service.actor = step.get("as", "tester")
        if hasattr(given, todo):
            for row in filled(step.get("rows", [[]]), answers):
                answers.append(getattr(given, todo)(*row, **fields))
        elif todo.startswith("compare "):
            places = todo.replace("$STORE", f"'{store_url}'").replace("$APP", APP)
            check_step(turnwise, {**step, "do": places})
        elif "refused" in step:
            before = service.store.read(lambda c: c.execute(select(HISTORY)).all())
            with pytest.raises(ServiceError) as caught:
                called(service, todo, fields)
            error = caught.value
            status, field, *why = filled(step["refused"], answers)
            assert (error.status, error.field) == (status, field), f"{step}: {error}"
            assert all(words in error.message for words in why), f"{step}: {error}"
            assert "\n" not in error.message
            assert service.store.read(lambda c: c.execute(select(HISTORY)).all()) == before
            answers.append(None)
        else:
            answers.append(called(service, todo, fields))
            check_answer(step, answers[-1], answers)
