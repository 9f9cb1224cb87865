"""Commands as data: the files that are there, what is run in their folder, and what comes of it.

Each line of `*/commands/*.jsonl` has `files` (a list is written as JSON Lines, a text as it is, anything
else as JSON; `{"logs": [...]}` gives the arguments of `log`, the last of them fields, and `{"times": N,
"row": ...}` repeats a row, whose `#` is its number) and `steps`, one after the other: the arguments of
`turnwise`, its `exit` status (0 where none is named; 2 says why in one line, or in `lines`), and texts that
stand in its output (`out`, or `err`), each once and in this order, or never (`no_out`, `no_err`; `""` stands
for nothing at all). `rows` are those of a table (`out/results`), in order, and `document` parts of a JSON
file or of the output: of each, the fields that are named are compared (`part` in tests/tables.py), and a list
in full. Spaces and ends of lines count as one space.
"""

import contextlib
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.logs import lines, log
from tests.tables import document_of, part, rows_of

LINES = {
    f"{path.parents[1].name}/{path.stem}: {line['name']}": line
    for path in sorted(Path(__file__).parent.glob("*/commands/*.jsonl"))
    for line in map(json.loads, path.read_text(encoding="utf-8").splitlines())
}


def numbered(value: Any, number: int) -> Any:
    return json.loads(json.dumps(value).replace("#", str(number)))


def text_of(content: Any) -> str:
    """Returns the text of a file."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict) and content.keys() == {"logs"}:
        rows = [row if isinstance(row[-1], dict) else [*row, {}] for row in content["logs"]]
        return lines(*(log(*row[:-1], **row[-1]) for row in rows))
    if not isinstance(content, list):
        return json.dumps(content)
    rows: list[Any] = []
    for row in content:
        if isinstance(row, dict) and row.keys() == {"times", "row"}:
            rows += (numbered(row["row"], number) for number in range(row["times"]))
        else:
            rows.append(row)
    return lines(*rows)


def check_text(text: str, wanted: list[str], never: list[str]) -> None:
    """Checks that texts stand in another, one after the other, and others nowhere."""
    text, rest = " ".join(text.split()), " ".join(text.split())
    for own in wanted:
        _, stands, rest = rest.partition(own)
        assert stands, f"{own!r} is missing, or not in this order, in {text}"
    for own in never:
        assert own not in text if own else not text, text


def write_files(files: dict[str, Any]) -> None:
    for path, content in files.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text_of(content), encoding="utf-8")


def check_step(turnwise: Any, step: dict[str, Any]) -> None:
    """Runs a command, and checks what comes of it."""
    done = turnwise(*shlex.split(step["do"]))
    assert done.status == step.get("exit", 0), f"{step['do']}: {done.err}"
    if done.status == 2 or "lines" in step:
        assert done.err.count("\n") == step.get("lines", 1), done.err
    for stream, text in (("out", done.out), ("err", done.err)):
        check_text(text, step.get(stream, []), step.get(f"no_{stream}", []))
    for table, wanted in step.get("rows", {}).items():
        directory, _, kind = table.rpartition("/")
        assert part(rows_of(Path(directory), kind), wanted) == wanted
    for path, wanted in step.get("document", {}).items():
        directory, _, kind = path.rpartition("/")
        document = document_of(Path(directory), kind) if path else json.loads(done.out)
        assert part(document, wanted) == wanted


@pytest.mark.parametrize("name", LINES)
def test_a_command_does_what_is_written(name, turnwise, tmp_path):
    with contextlib.chdir(tmp_path):
        write_files(LINES[name].get("files", {}))
        for step in LINES[name]["steps"]:
            check_step(turnwise, step)
