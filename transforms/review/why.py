"""Says in one line why a conversation should be read, and which others have the same kind of problem."""

import re
from typing import NamedTuple

from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.review.call_problems import CallProblem, call_problem
from turnwise.transforms.review.calls import DESTRUCTIVE
from turnwise.transforms.review.problems import ReviewProblem
from turnwise.transforms.scoring.verdict import STATUS
from turnwise.transforms.text.sentences import single_spaced

MOST_WHY = 200
_MOST_KIND = 60
_PLACE = re.compile(r"(?:\d+ of \d+ fail\. )?(?:turn \d+: )?(?:\d+ of \d+ expectations? met\. )?", re.I)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class Why(NamedTuple):
    """Why a conversation should be read.

    Attributes:
        text: One line of at most 200 characters.
        cluster: Criterion, label and tool, separated by `|`.
        cluster_label: The same for people.
    """

    text: str
    cluster: str
    cluster_label: str


def why_of(problem: ReviewProblem, sample: Sample) -> Why:
    """Returns why a conversation should be read, by its most severe problem."""
    calls = call_problem(problem, sample)
    text = _text(problem, calls)
    place = f"turn {problem.turn}"
    if problem.turn is not None and not text.lower().startswith(place):
        text = f"{place}: {text}"
    criterion = problem.criterion or (DESTRUCTIVE if problem.term == DESTRUCTIVE else STATUS)
    kind, tool = _kind_and_tool(problem, calls)
    shown = " ".join(part for part in (kind, tool) if part)
    return Why(
        one_line(text, MOST_WHY),
        "|".join(one_line(part, _MOST_KIND).replace("|", "/") for part in (criterion, kind, tool)),
        one_line(f"{criterion}: {shown}" if shown else criterion, MOST_WHY),
    )


def _kind_and_tool(problem: ReviewProblem, calls: CallProblem | None) -> tuple[str, str]:
    """Returns what tells the problem from others of its criterion: its label and its tool; "": nothing."""
    score = problem.score
    if calls is not None:
        return calls.kind, calls.tool
    if score is None:
        return problem.label or (_without_numbers(problem.text or ""), "")
    if score.label is not None:
        return score.label, ""
    checks = (score.details or {}).get("checks")
    entries = checks if isinstance(checks, list) else []
    failed = next((c for c in entries if isinstance(c, dict) and c.get("outcome") == "FAIL"), {})
    kind = str(failed.get("kind") or "")
    return kind, str(failed.get("wanted") or "").partition("(")[0] if kind == "tool_call" else ""


def _text(problem: ReviewProblem, calls: CallProblem | None) -> str:
    if calls is not None:
        return calls.text
    score = problem.score
    if score is None:
        return problem.text or f"the verdict is FAIL ({problem.term})"
    told = _without_place(score.explanation or score.reason or "")
    if told.startswith(f"Turn {problem.turn} "):
        return f"t{told[1:]}"
    return f"{problem.criterion}: {told}" if told else f"{problem.criterion} failed"


def _without_numbers(text: str) -> str:
    """Returns a text without its place and its numbers, so that equal reasons are equal."""
    return one_line(_NUMBER.sub("N", _without_place(text)), _MOST_KIND)


def _without_place(text: str) -> str:
    found = _PLACE.match(text)
    return text[found.end() :] if found else text


def one_line(text: str, most: int) -> str:
    """Returns a text in one line of at most `most` characters."""
    line = single_spaced(text, most)
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
