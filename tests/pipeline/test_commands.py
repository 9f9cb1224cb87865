"""Commands as data: the files that are there, what is run in their folder, and what comes of it.

Each line of `*/commands/*.jsonl` has `files` and `steps`, one after the other.

Files by path: a list is written as JSON Lines, a text as it is, anything else as JSON, except
`{"logs": [...]}` (the arguments of `log`, the last of them fields), `{"orders": N}` (so many of `order`),
`{"array": rows}`, `{"gzip": file}`, `{"base64": text}`, null (removed), `{"folder": true}`,
`{"old": file}` (of 1970) and `{"run": ...}`, the output directory of a run (`made_runs.py`). In lists
`{"times": N, "row": ...}` repeats a row, whose `#` is its number, from 0 or from `from`.

A step may write `files`, and then runs the arguments of `turnwise` in `do`, in which `{sample}` is the folder
of the sample data. It says the `exit` status (0 where none is named; with 2 there is one line in `err` and
nothing in `out`, unless the step says what stands in `out`), texts that stand in the output (`out`, or `err`)
or in files (`text`), each once and in this order, or never (`no_out`, `no_err`, `no_text`; `""` stands for
nothing at all), the number of lines of `err` (`err_lines`), the `width` that the terminal has, the file that
takes what stands in `out` (`save`), and paths that are there or not (`there`).

`rows` are those of a table (`out/results`, or with a condition `out/scores?criterion=verdict`), in order, and
`document` parts of a JSON file, of the data of a report or of the output (``): of each, the fields that are
named are compared, and a list in full, or by `{"0": first, "#": length, "name=x": item}` with the item of
which that holds; `{}` is whatever is there, and decimals are compared to as many places as are written. A
line with the rules of a `judge` runs beside the server of `tests/judge_server.py`, whose address stands for
`{server}`: a step may write other `rules`, and say what was `asked` (of its statistics). Spaces and ends of
lines count as one space.
"""

import base64
import contextlib
import gzip
import json
import os
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.conftest import SAMPLE
from tests.pipeline.logs import lines, log, order
from tests.pipeline.made_runs import make_run
from tests.served import in_environment
from tests.tables import document_of, part, rows_of
from turnwise.pipeline.io.terminal import columns

LINES = [
    pytest.param(line, id=f"{path.parents[1].name}/{path.stem}: {line['name']}")
    for path in sorted(Path(__file__).parent.glob("*/commands/*.jsonl"))
    for line in map(json.loads, path.read_text(encoding="utf-8").splitlines())
]
BEFORE = {"files", "rules"}
"""Keys of a step that runs nothing."""
KEYS = {
    *("do", "exit", "out", "err", "no_out", "no_err", "err_lines", "width", "save", "there"),
    *("text", "no_text", "rows", "document", "asked", *BEFORE),
}


def repeated(rows: list[Any]) -> list[Any]:
    """Returns rows, those that are to be repeated with their numbers."""
    result: list[Any] = []
    for row in rows:
        match row:
            case {"times": times, "row": inner}:
                text, first = json.dumps(inner), row.get("from", 0)
                result += (json.loads(text.replace("#", str(first + number))) for number in range(times))
            case _:
                result.append(row)
    return result


def content_of(content: Any) -> bytes:
    """Returns the bytes of a file."""
    match content:
        case str():
            return content.encode("utf-8", "surrogatepass")
        case {"gzip": inner}:
            return gzip.compress(content_of(inner))
        case {"base64": text}:
            return base64.b64decode(text)
        case {"orders": number}:
            return lines(*map(order, range(number))).encode()
        case {"logs": rows}:
            given = (row if isinstance(row[-1], dict) else [*row, {}] for row in repeated(rows))
            return lines(*(log(*row[:-1], **row[-1]) for row in given)).encode()
        case {"array": rows}:
            return json.dumps(repeated(rows)).encode()
        case list():
            return lines(*repeated(content)).encode()
    return json.dumps(content).encode()


def write_file(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    match content:
        case None:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        case {"folder": True}:
            path.mkdir()
        case {"old": old}:
            write_file(path, old)
            os.utime(path, (1, 1))
        case {"run": rows}:
            make_run(path, **{key: repeated(of) if isinstance(of, list) else of for key, of in rows.items()})
        case _:
            path.write_bytes(content_of(content))


def check_text(text: str, wanted: list[str], never: list[str]) -> None:
    """Checks that texts stand in another, one after the other, and others nowhere."""
    text, rest = " ".join(text.split()), " ".join(text.split())
    for own in wanted:
        _, stands, rest = rest.partition(own)
        assert stands, f"{own!r} is missing, or not in this order, in {text}"
    for own in never:
        assert own not in text if own else not text, text


def check_files(step: dict[str, Any], out: str) -> None:
    """Checks the files of a step, and the document of its output."""
    for path, is_there in step.get("there", {}).items():
        assert Path(path).exists() is is_there, path
    for path in step.get("text", {}).keys() | step.get("no_text", {}).keys():
        wanted = step.get("text", {}).get(path, []), step.get("no_text", {}).get(path, [])
        check_text(Path(path).read_text(encoding="utf-8"), *wanted)
    for table, wanted in step.get("rows", {}).items():
        path, _, condition = table.partition("?")
        key, _, value = condition.partition("=")
        rows = rows_of(Path(path).parent, Path(path).name)
        rows = [row for row in rows if not condition or str(row[key]) == value]
        assert part(rows, wanted) == wanted
    for path, wanted in step.get("document", {}).items():
        if path.endswith(".html"):
            [data] = re.findall(r'id="report">([^<]*)<', Path(path).read_text(encoding="utf-8"))
            document = json.loads(gzip.decompress(base64.b64decode(data)))
        else:
            document = document_of(Path(path).parent, Path(path).name) if path else json.loads(out)
        assert part(document, wanted) == wanted


def keys_of(server: Any) -> dict[str, str]:
    """Returns the environment that leads the clients of all providers to a server."""
    keys = dict.fromkeys(("GOOGLE_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"), server.key)
    return {**keys, "OPENAI_BASE_URL": f"{server.url}/v1", "ANTHROPIC_BASE_URL": server.url}


def write_files(files: dict[str, Any]) -> None:
    for path, content in files.items():
        write_file(Path(path), content)


def check_step(turnwise: Any, step: dict[str, Any]) -> None:
    """Runs a command in this folder, and checks what comes of it."""
    done = turnwise(*shlex.split(step["do"]))
    status = step.get("exit", 0)
    assert done.status == status, f"{step['do']}: {done.err}"
    if status == 2 and "out" not in step:
        assert (done.out, done.err.count("\n")) == ("", step.get("err_lines", 1)), done.err
    assert done.err.count("\n") == step.get("err_lines", done.err.count("\n")), done.err
    assert "width" not in step or max(map(columns, done.out.splitlines())) <= step["width"], done.out
    if "save" in step:
        Path(step["save"]).write_text(done.out, encoding="utf-8")
    for stream, text in (("out", done.out), ("err", done.err)):
        check_text(text, step.get(stream, []), step.get(f"no_{stream}", []))
    check_files(step, done.out)


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("line", LINES)
def test_a_command_does_what_is_written(line, request, turnwise, tmp_path):
    variables, text = {"COLUMNS": os.environ["COLUMNS"]}, json.dumps(line).replace("{sample}", str(SAMPLE))
    server = request.getfixturevalue("server") if "judge" in line else None
    if server:
        server.script(*line["judge"])
        variables, text = keys_of(server), text.replace("{server}", server.url)
    line = json.loads(text)
    assert line.keys() <= {"name", "files", "steps", "judge"}
    with contextlib.chdir(tmp_path):
        for step in [{"files": line.get("files", {})}, *line["steps"]]:
            assert step.keys() <= (KEYS if "do" in step else BEFORE), "what nothing reads checks nothing"
            write_files(step.get("files", {}))
            if "rules" in step:
                server.script(*step["rules"])
            if "do" not in step:
                continue
            with in_environment(variables | ({"COLUMNS": str(step["width"])} if "width" in step else {})):
                check_step(turnwise, step)
            if "asked" in step:
                assert part(server.stats(), step["asked"]) == step["asked"]
