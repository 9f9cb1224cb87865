"""Findings of a record, its eval case and its answers: problems that do not prevent scoring."""

from collections.abc import Iterator
from typing import Final

from turnwise.schemas.conversation import Problem, Turn
from turnwise.schemas.score import Failure
from turnwise.transforms.answers.checks import found_problems
from turnwise.transforms.matching.sample import Sample

STAGE: Final = "check"
"""Stage of findings in the table of failures."""
UNREAD_EXPECTATION = "UnreadExpectation"
UNKNOWN_CASE = "UnknownCase"


def record_findings(sample: Sample) -> list[Failure]:
    """Returns the findings of a record, its case and its answers.

    One row per turn and kind; findings on the whole conversation have no turn.
    """
    found = [
        _row(sample, index, problem)
        for index, turn in enumerate(sample.conversation.turns)
        if turn.findings or turn.grounded is not None
        for problem in _turn_problems(turn)
    ]
    return found + [_row(sample, *unread) for unread in _unread(sample)] if sample.has_gaps else found


def _row(sample: Sample, index: int | None, problem: Problem) -> Failure:
    return Failure(
        stage=STAGE,
        error_type=problem.kind,
        message=problem.message,
        source=sample.record.source,
        position=sample.record.position,
        conversation_id=sample.conversation.conversation_id,
        app_version=sample.conversation.app_version,
        turn_index=index,
    )


def _unread(sample: Sample) -> Iterator[tuple[int | None, Problem]]:
    case = sample.eval_case
    if case is not None and case.not_found:
        yield None, Problem(UNKNOWN_CASE, case.not_found)
    if case is not None and case.unread:
        yield None, Problem(UNREAD_EXPECTATION, case.unread)
    for pair in sample.pairs:
        if pair.expected is not None and pair.expected.unread:
            yield pair.index, Problem(UNREAD_EXPECTATION, pair.expected.unread)


def _turn_problems(turn: Turn) -> list[Problem]:
    answer = turn.grounded
    return turn.findings + ([*answer.problems, *found_problems(turn, answer)] if answer else [])
