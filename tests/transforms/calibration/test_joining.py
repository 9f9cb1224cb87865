"""Labels and scores are brought together, and every line that is not used is named."""

import pytest

from turnwise.schemas.calibration import HumanLabel
from turnwise.transforms.decisions.calibration.labels import (
    LabelLine,
    LabelProblems,
    Ruler,
    joined_labels,
    judged_scores,
)

RULERS = {"safe": Ruler(scale=(0.0, 1.0)), "verdict": Ruler(has_values=False)}


def row(conversation="c1", turn=None, value=1.0, outcome="PASS", **more):
    plain = {
        "eval_id": None,
        "app_version": "v1",
        "threshold": 0.5,
        "language": "ko",
        "tags": [],
        "revision": 0,
    }
    own = {"conversation_id": conversation, "turn_index": turn, "value": value, "outcome": outcome}
    return plain | own | {"criterion": "safe", "score_id": f"{conversation}-{turn}"} | more


ROWS = [
    row(),
    row("c2", 0),
    row("c2", 1, None, None),
    row("twice", score_id="a"),
    row("twice", score_id="b", app_version="v2"),
    row("old", value=0.2, outcome="FAIL"),
    row("old", revision=1),
    row("tools", 0, score_id="t"),
    row("tools", 0, score_id="t.1"),
    row("none", value=0.4, outcome=None, threshold=None),
    row("v", criterion="verdict", value=None),
]


def joined(*labels, rows=ROWS):
    problems = LabelProblems()
    lines = [
        LabelLine(HumanLabel(**{"conversation_id": "c1", "criterion": "safe"} | label), f"l:{number}")
        for number, label in enumerate(labels, 1)
    ]
    groups = joined_labels(lines, judged_scores(rows, RULERS), RULERS, problems).groups
    answers = {
        (one.score.conversation_id, one.score.turn_index): one.answers
        for group in groups.values()
        for one in group
        if one.answers
    }
    return answers, {problem.kind: problem.count for problem in problems.found()}


@pytest.mark.parametrize(
    "labels, answers, problems",
    [
        ([{"label": "up"}], {("c1", None): {None: 1.0}}, {}),
        ([{"label": "FAIL", "score_id": "c1-None"}], {("c1", None): {None: 0.0}}, {}),
        ([{"label": 0.3}], {("c1", None): {None: 0.3}}, {}),
        (
            [{"label": "up", "rater": "a"}, {"label": "down", "rater": "b"}],
            {("c1", None): {"a": 1.0, "b": 0.0}},
            {},
        ),
        ([{"label": "up", "score_id": "of-another-run"}], {}, {"unknown": 1}),
        ([{"label": "up", "score_id": "c2-0"}], {}, {"unknown": 1}),
        ([{"label": "up", "turn_index": 0}], {}, {"unknown": 1}),
        ([{"label": "up", "criterion": "safe?"}], {}, {"unknown": 1}),
        ([{"label": "up", "conversation_id": "tools", "turn_index": 0}], {}, {"ambiguous": 1}),
        ([{"label": "up", "conversation_id": "twice"}], {}, {"ambiguous": 1}),
        ([{"label": "up"}, {"label": "down"}], {}, {"contradiction": 2}),
        ([{"label": "up"}, {"label": "PASS"}], {("c1", None): {None: 1.0}}, {"repeated": 1}),
        ([{"label": "up"}, {"label": 1.0, "conversation_id": "none"}], {}, {"mixed": 2}),
        ([{"label": 0.5}, {"label": 4.0, "conversation_id": "none"}], {}, {"off_scale": 2}),
        ([{"label": 1.0, "conversation_id": "v", "criterion": "verdict"}], {}, {"off_scale": 1}),
        ([{"label": "up", "conversation_id": "c2", "turn_index": 1}], {("c2", 1): {None: 1.0}}, {}),
        ([{"comment": "why?"}], {}, {"no_label": 1}),
    ],
)
def test_lines_are_used_or_named(labels, answers, problems):
    assert joined(*labels) == (answers, problems)


def test_the_last_revision_counts():
    (score,) = judged_scores([ROWS[5], ROWS[6]], RULERS)
    assert score.passed is True and score.value == 1.0


def test_rows_without_score_ids_are_found_by_their_columns():
    old = [{name: value for name, value in ROWS[0].items() if name != "score_id"}]
    assert joined({"label": "up", "score_id": "x"}, rows=old) == ({("c1", None): {None: 1.0}}, {})


def test_turns_and_conversations_are_apart():
    problems = LabelProblems()
    rows = [row("c1"), row("c1", 0)]
    lines = [
        LabelLine(HumanLabel(conversation_id="c1", criterion="safe", turn_index=turn, label=label), "l:1")
        for turn, label in ((None, "up"), (0, 0.5))
    ]
    found = joined_labels(lines, judged_scores(rows, RULERS), RULERS, problems)
    assert sorted(found.groups) == [("safe", "conversation"), ("safe", "turn")]
    assert found.numbers == {("safe", "turn")} and problems.found() == []
