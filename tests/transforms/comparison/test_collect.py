"""Conversations of one id keep their own scores and verdicts, by their eval cases."""

import pytest

from turnwise.transforms.decisions.comparison.collect import Summary, collect

STATUS = "evaluation_status"
BLANK = dict.fromkeys(("outcome", "threshold", "label", "reason", "explanation", "details", "judge"))


def score(eval_id, value, criterion="match"):
    named = {"run_id": "r", "conversation_id": "c", "app_version": "v", "eval_id": eval_id}
    found = {"turn_index": None, "criterion": criterion, "value": value, "revision": 0}
    return {**BLANK, **named, **found, "language": None, "tags": []}


def ended(eval_id, verdict):
    return Summary("c", "v", verdict, eval_id=eval_id)


JOINED = [
    # (case, value) of score rows, (case, verdict) of summaries -> (case, value, verdict)
    ([("a", 1.0), ("b", 0.0)], [("b", "FAIL"), ("a", "PASS")], [("b", 0.0, 0.0), ("a", 1.0, 1.0)]),
    ([("b", 0.0)], [("a", "PASS"), ("b", "FAIL")], [("a", None, 1.0), ("b", 0.0, 0.0)]),
    ([("a", 1.0)], [("b", "FAIL")], [("b", None, 0.0), ("a", 1.0, None)]),
    ([("a", 1.0), ("b", 0.0)], [(None, "PASS"), (None, "FAIL")], [("a", 1.0, 1.0), ("b", 0.0, 0.0)]),
    ([("a", 1.0), ("b", 0.0)], [(None, "FAIL"), ("a", "PASS")], [("a", 1.0, 1.0), ("b", 0.0, 0.0)]),
    ([(None, 0.5), ("a", 1.0)], [("a", "PASS"), (None, "FAIL")], [("a", 1.0, 1.0), (None, 0.5, 0.0)]),
]


@pytest.mark.parametrize(("scores", "verdicts", "expected"), JOINED)
def test_scores_are_joined_to_the_verdict_of_their_case(scores, verdicts, expected):
    found = collect([score(*one) for one in scores], [ended(*one) for one in verdicts])
    values = [[own.criteria.get(name) for name in ("match", STATUS)] for own in found]
    told = [[None if value is None else value.value for value in both] for both in values]
    assert [(own.eval_id, *both) for own, both in zip(found, told, strict=True)] == expected
