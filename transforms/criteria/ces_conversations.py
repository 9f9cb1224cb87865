"""CES's judgements of a whole scenario: rubrics and user goal."""

from collections import Counter
from statistics import median_low
from typing import ClassVar, Literal

from pydantic import Field

from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import Outcome, Score
from turnwise.transforms.criteria.base import JudgedCriterion
from turnwise.transforms.criteria.ces.items import JudgedRubric, with_items
from turnwise.transforms.judging.ask import Ask, Question
from turnwise.transforms.judging.prompts import dialogue_sections
from turnwise.transforms.judging.prompts.reply import ReasonedReply, Reply
from turnwise.transforms.judging.prompts.sections import Section
from turnwise.transforms.judging.prompts.statements import left_out, statement_sections, unjudged_reason
from turnwise.transforms.judging.vote import Answers, ask_all
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.text.cleaning import quoted

_Goal = Literal["satisfied", "not_satisfied", "unspecified"]
_SCORES: dict[_Goal, int] = {"not_satisfied": 0, "unspecified": -1, "satisfied": 1}
LABELS = {1: "User Task Satisfied", 0: "User Task Not Satisfied", -1: "User Task Unspecified"}
"""CES's labels of the user goal's scores."""


class RubricGrade(ReasonedReply):
    """Grade of one rubric."""

    number: int = Field(description="Number of the rubric, as in its section's name.")
    quote: str = Field(description="The words of the conversation that decide; empty if there are none.")
    reason: str = Field(description="Why, in one or two sentences.")
    grade: int = Field(ge=0, le=4)


class RubricsReply(Reply):
    """One entry for every rubric."""

    rubrics: list[RubricGrade]


class ScenarioRubrics(JudgedCriterion):
    """Mean score of a case's rubrics over the whole conversation, 0..1; of several samples the median.

    When to use: CES scenarios with rubrics.
    """

    name: ClassVar[str] = "scenario_rubrics"
    needs: ClassVar[str] = "a scenario with rubrics"

    async def judge_conversation(self, sample: Sample, ask: Ask) -> Score | None:
        """Judges a recorded conversation; without a rubric None, or unscored where it is a gate."""
        rubrics = sample.eval_case.rubrics if sample.eval_case else []
        if not sample.conversation.turns:
            return None
        if not rubrics:
            return None if self.threshold is None else Score(None, reason="the case has no rubrics")
        texts = [rubric.text for rubric in rubrics]
        sections = [*dialogue_sections(sample.conversation), *statement_sections("rubric", texts)]
        prompt = self._prompt(f"{self.name}/2", sections)
        question = Question(
            prompt, RubricsReply, self.options, verdicts=lambda reply: _grades(reply, len(texts))
        )
        answers = await ask_all(ask, question)
        found = [{"rubric": text, **_graded(answers, i, prompt.evidence)} for i, text in enumerate(texts, 1)]
        scores = [rubric["score"] for rubric in found if rubric["score"] is not None]
        score = Score(None, judge=answers.use, details={"rubrics": found, **left_out(prompt)})
        if len(scores) == len(found):
            score.value = sum(scores) / len(scores)
        else:
            score.reason = unjudged_reason(len(found) - len(scores), len(found), answers.reason)
        return with_items(score, [JudgedRubric(r["rubric"], r["score"], r["reason"]) for r in found])


def _grade(reply: RubricsReply, number: int) -> RubricGrade | None:
    """Returns the grade of a rubric; None: it has none, or several."""
    found = [grade for grade in reply.rubrics if grade.number == number]
    return found[0] if len(found) == 1 else None


def _grades(reply: RubricsReply, count: int) -> list[int | None]:
    grades = (_grade(reply, number) for number in range(1, count + 1))
    return [None if grade is None else grade.grade for grade in grades]


def _graded(answers: Answers[RubricsReply], number: int, evidence: str) -> JsonObject:
    """Returns a rubric's median grade as a score 0..1; an answer that grades it twice does not count."""
    usable = [grade for reply in answers.replies if (grade := _grade(reply, number))]
    if not usable:
        return {"score": None, "reason": None}
    middle = median_low(grade.grade for grade in usable)
    chosen = next(grade for grade in usable if grade.grade == middle)
    return {"score": middle / 4, "reason": chosen.reason, **quoted(chosen.quote, evidence)}


class GoalReply(ReasonedReply):
    """Verdict on the user goal."""

    quote: str = Field(description="The words of the conversation that decide.")
    reason: str = Field(description="Why, in one or two sentences.")
    verdict: _Goal


class UserGoalSatisfaction(JudgedCriterion):
    """CES's user goal of a scenario: 1 satisfied, 0 not satisfied, -1 unspecified.

    The outcome is PASS if the score matches the expected outcome of the goal, SKIPPED if the scenario ignores
    the goal. A score of -1 is outside the scale: it enters no mean. Of several samples the most frequent
    verdict counts, and of equally frequent ones the worst.

    When to use: CES scenarios with a user goal.
    """

    name: ClassVar[str] = "user_goal_satisfaction"
    needs: ClassVar[str] = "a scenario with a task"
    special_values: ClassVar[tuple[float, ...]] = (-1,)

    threshold: float | None = 1.0

    async def judge_conversation(self, sample: Sample, ask: Ask) -> Score | None:
        """Judges a recorded conversation; None if its case has no task."""
        scenario = sample.eval_case
        if scenario is None or scenario.kind != "scenario" or not scenario.user_goal_enabled:
            return None
        if not scenario.task or not sample.conversation.turns:
            return None
        sections = [Section("task", scenario.task)]
        sections += [Section("what the user knows", f"{f.name}: {f.value}") for f in scenario.user_facts]
        prompt = self._prompt(f"{self.name}/2", [*sections, *dialogue_sections(sample.conversation)])
        question = Question(prompt, GoalReply, self.options, verdicts=lambda reply: [reply.verdict])
        answers = await ask_all(ask, question)
        if not answers.replies:
            return Score(None, reason=answers.reason, judge=answers.use)
        score = _goal_score(answers)
        score.outcome = goal_outcome(scenario.user_goal, score.value)
        if scenario.user_goal == "REJECTED":
            score.reason = "the scenario expects that the goal is not satisfied"
        return score


def goal_outcome(wanted: Literal["SATISFIED", "REJECTED", "IGNORED"], score: float | None) -> Outcome | None:
    """Compares a user goal's score with the expected outcome; None: there is no score."""
    if wanted == "IGNORED":
        return "SKIPPED"
    if score is None:
        return None
    return "PASS" if score == (1.0 if wanted == "SATISFIED" else 0.0) else "FAIL"


def _goal_score(answers: Answers[GoalReply]) -> Score:
    counts = Counter(reply.verdict for reply in answers.replies)
    verdict = max(_SCORES, key=lambda verdict: counts[verdict])
    reply = next(reply for reply in answers.replies if reply.verdict == verdict)
    prompt, score = answers.question.prompt, _SCORES[verdict]
    details = {
        **quoted(reply.quote, prompt.evidence),
        "verdicts": [reply.verdict for reply in answers.replies],
        **left_out(prompt),
    }
    return Score(
        float(score), label=LABELS[score], explanation=reply.reason, details=details, judge=answers.use
    )
