"""Eval cases that an app version has no recording of, and another version of the run has."""

from typing import Any

import pytest

from turnwise.transforms.decisions.gate.measured import unrecorded_cases


def row(
    version: str | None,
    name: str | None,
    conversation: str = "c",
    task: str | None = None,
    in_set: Any = None,
) -> Any:
    own = {"app_version": version, "eval_id": name, "conversation_id": conversation}
    return {**own, "task": task, "eval_set_id": in_set}


BOTH = [row("v1", "a"), row("v2", "a")]


@pytest.mark.parametrize(
    ("rows", "lost", "found"),
    [
        ([], (), {}),
        ([*BOTH, row("v1", "b")], (), {"v1": [], "v2": ["b"]}),
        ([row("v1", "a"), row("v2", "b"), row("v3", "b")], (), {"v1": ["b"], "v2": ["a"], "v3": ["a"]}),
        ([row("v1", "a", in_set="s"), row("v2", "a", in_set="t")], (), {"v1": ["a"], "v2": ["a"]}),
        ([*BOTH, row("v1", "b")], {"b"}, {"v1": [], "v2": []}),
        ([row("v1", "a"), row("v1", "b")], (), {"v1": []}),
        ([row("v1", "a"), row(None, "b")], (), {"v1": []}),
        ([row("v1", "a"), row("v2", None)], (), {"v1": [], "v2": ["a"]}),
        ([row("v1", "c1", "c1"), row("v2", "c2", "c2")], (), {"v1": [], "v2": []}),
        ([row("v1", "c1", "c1", "c1"), row("v2", "c2", "c2", "c2")], (), {"v1": ["c2"], "v2": ["c1"]}),
    ],
)
def test_cases_that_another_version_has(rows: list[Any], lost: Any, found: dict[str, list[str]]) -> None:
    assert unrecorded_cases(rows, lost) == found
