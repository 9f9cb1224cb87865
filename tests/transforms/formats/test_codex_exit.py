"""Exit codes in the outputs of Codex's commands."""

import json

import pytest

from turnwise.transforms.formats.codex_sessions import is_typed, marked


@pytest.mark.parametrize(
    ("output", "error"),
    [
        (json.dumps({"output": "exit code 3 means missing", "metadata": {"exit_code": 0}}), None),
        (json.dumps({"output": "ok", "metadata": {"exit_code": 3}}), "exit code 3"),
        ("Exit code: 0\nWall time: 1s\nOutput:\nprogram exited with code 3 yesterday", None),
        ("Exit code: 2\nWall time: 1s\nOutput:\nno such file", "exit code 2"),
        ("Chunk ID: a\nProcess exited with code 1\nOutput:\n", "exit code 1"),
        ("the docs say: exit code 3", None),
    ],
)
def test_only_a_stated_exit_code_is_an_error(output, error):
    assert marked({"output": output}).get("error") == error


@pytest.mark.parametrize(
    ("text", "typed"),
    [("# AGENTS.md instructions for /x", False), ("# AGENTS.md is wrong, please fix it", True)],
)
def test_what_the_tool_wrote_is_nothing_that_was_typed(text, typed):
    assert is_typed({"content": text}, []) is typed
