"""Conversations as data, and what is said of them: scores, verdicts, results, findings.

Each line of `*/scores/*.jsonl` is a conversation (`turns`, its other fields in `of`) beside its `case`, the
`criteria` that score it, and `scores`: what each of them says of turns and of the `whole`, without what is
empty. `details` are compared where they stand. A judge gives `replies`: for each question those to its
samples, the last one again and again; a text says why a reply is unusable. `samples` is how many it is asked
for, `shown` what it is shown, section by section. `verdict` has its reasons behind it. `result` is CES's; its
names are compared where they stand. `findings` are what is wrong with the record.

`python -m tests.transforms.test_scores FILE.jsonl...` writes what is said today; look at the diff.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.ces_messages import parsed
from tests.samples import score_conversation
from tests.scripted_judge import ScriptedJudge, read_sections
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation, Record
from turnwise.schemas.run import RunInfo
from turnwise.schemas.score import Score
from turnwise.transforms.ces.result import evaluation_result
from turnwise.transforms.criteria.base import CRITERIA, JudgedCriterion, MeasuredCriterion
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.review.row import RULES
from turnwise.transforms.scoring.evaluate import conversation_verdict, judge_conversation

LINES = {
    f"{path.parents[1].name}/{path.stem}: {line['name']}": line
    for path in sorted(Path(__file__).parent.glob("*/scores/*.jsonl"))
    for line in map(json.loads, path.read_text(encoding="utf-8").splitlines())
}
RUN = RunInfo("run-1", "2026-03-01T02:00:00Z")
NAMES = ("name", "displayName", "createTime", "evaluationRun")
SAID = ("value", "outcome", "threshold", "label", "reason", "explanation", "details")


class Replies(ScriptedJudge):
    """Gives the replies of a line, in the order in which it is first asked what it is shown."""

    def __init__(self, replies: list[list[Any]]) -> None:
        super().__init__(self._reply)
        self.replies, self.shown = replies, []

    def _reply(self, question: Any, number: int) -> Any:
        if question.prompt.evidence not in self.shown:
            self.shown.append(question.prompt.evidence)
        order = self.shown.index(question.prompt.evidence)
        replies = self.replies[min(order, len(self.replies) - 1)]
        return replies[min(number, len(replies) - 1)]


def said(score: Score, wanted: Any) -> dict[str, Any]:
    """Returns what is not empty, and details only where they are wanted."""
    found = {name: getattr(score, name) for name in SAID}
    return {
        name: item
        for name, item in found.items()
        if item is not None and (name != "details" or "details" in (wanted or {}))
    }


def said_today(line: dict[str, Any]) -> dict[str, Any]:
    """Returns what is said of a line's conversation, and what the judge is asked."""
    fields = {"conversation_id": "c", "turns": line["turns"], **line.get("of", {})}
    case = msgspec.convert({"eval_id": "e", **line["case"]}, EvalCase) if "case" in line else None
    sample = Sample(msgspec.convert(fields, Conversation), case, Record("f", 1, b"{}"))
    criteria = [CRITERIA[name](**given) for name, given in line["criteria"].items()]
    scored = score_conversation(sample, [one for one in criteria if isinstance(one, MeasuredCriterion)])
    ask = Replies(line.get("replies", []))
    judged = [one for one in criteria if isinstance(one, JudgedCriterion)]
    if judged:
        asyncio.run(judge_conversation(scored, judged, ask))
    assert [failure for failure in scored.failures if failure.stage != "check"] == []
    today: dict[str, Any] = {"scores": {}}
    for result in scored.scores:
        wanted = line.get("scores", {}).get(result.criterion.name, {})
        of_turns = wanted.get("turns", [])
        turns = [
            [turn, said(score, of_turns[i][1] if i < len(of_turns) else None)]
            for i, (turn, score) in enumerate(result.turns)
        ]
        whole = said(result.overall, wanted.get("whole")) if result.overall else None
        both = {**({"turns": turns} if turns else {}), **({"whole": whole} if whole is not None else {})}
        today["scores"][result.criterion.name] = both
    if judged:
        today["samples"] = ask.samples
    if "shown" in line:
        today["shown"] = [read_sections(evidence) for evidence in ask.shown]
    verdict = conversation_verdict(scored, RULES)
    if "verdict" in line:
        today["verdict"] = [verdict.status, *verdict.reasons]
    if "result" in line:
        result = parsed(evaluation_result(scored, verdict, RUN))
        today["result"] = {k: v for k, v in result.items() if k not in NAMES or k in line["result"]}
    if "findings" in line:
        today["findings"] = [[failure.error_type, failure.message] for failure in scored.failures]
    return json.loads(msgspec.json.encode(today))


TODAY = ("scores", "samples", "shown", "verdict", "result", "findings")


@pytest.mark.parametrize("name", LINES)
def test_it_is_said_as_a_person_says_it(name):
    line = LINES[name]
    assert said_today(line) == {key: item for key, item in line.items() if key in TODAY}


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        given = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        rows = [{**line, **said_today(line)} for line in given]
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        path.write_text(text, encoding="utf-8")
