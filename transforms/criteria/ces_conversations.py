"""CES's criteria of a whole conversation: expectations, rubrics and user goal."""

from collections import Counter
from collections.abc import Iterable
from statistics import median_low
from typing import ClassVar, Generic, Literal, TypeVar

from msgspec import Struct
from pydantic import Field

from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import Outcome, Score
from turnwise.transforms.criteria.base import JudgedCriterion, RestsOn
from turnwise.transforms.judging.ask import Answers, Ask, Question, ask_all
from turnwise.transforms.judging.prompts import (
    ReasonedReply,
    Reply,
    Section,
    dialogue_sections,
    judge_statements,
    left_out,
    share,
    share_score,
    spoken_sections,
    statement_sections,
    unjudged_reason,
)
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


# Judged items of CES's criteria: statements, answers, rubrics and values, with their scores.


class Statement(Struct, frozen=True):
    """An evaluation expectation. `score`: 1.0 met, 0.0 not met, None: not judged.

    Attributes:
        expectation: The expectation as the case states it, or the name of its resource.
        prompt: Text that was judged; None: the config has none.
        reason: Reason of the score, or why there is none.
    """

    expectation: str
    prompt: str | None
    score: float | None
    reason: str | None


class ExpectedAnswer(Struct, frozen=True):
    """An expected answer of a scenario. `score`: 1.0 given, 0.0 not given, None: not judged.

    Attributes:
        place: Index of its expectation among the outcomes.
        quote: The agent's words that decide.
    """

    place: int
    score: float | None
    quote: str | None


class JudgedRubric(Struct, frozen=True):
    """A rubric of a scenario. `score`: 0..1, None: not judged."""

    rubric: str
    score: float | None
    reason: str | None


class ComparedValue(Struct, frozen=True):
    """A value compared by meaning. `score`: 1.0 same meaning, 0.0 another, None: not judged.

    Attributes:
        place: Index of its expectation among the outcomes.
        name: Parameter or variable; `response` for a tool's response.
    """

    place: int
    name: str
    score: float | None


Item = TypeVar("Item", Statement, ExpectedAnswer, JudgedRubric, ComparedValue)


class ItemScore(Score, Generic[Item]):
    """Score of judged items.

    Attributes:
        items: The items, in the order of the case. The details hold the same for the table of scores.
    """

    items: tuple[Item, ...] = ()


def with_items(score: Score, items: Iterable[Item]) -> ItemScore[Item]:
    """Returns a score with its items."""
    values = {name: getattr(score, name) for name in Score.__struct_fields__}
    return ItemScore(**values, items=tuple(items))


def items_of(score: Score | None, kind: type[Item]) -> list[Item]:
    """Returns the items of a score that are of a kind; none of a score without items."""
    return [item for item in score.items if isinstance(item, kind)] if isinstance(score, ItemScore) else []


# CES's statements about a whole conversation: evaluation expectations, and expected answers of scenarios.


class EvaluationExpectations(JudgedCriterion):
    """Share of a case's evaluation expectations that the conversation meets, 0..1; PASS or FAIL each.

    A case states an expectation itself, or names the resource that does; `prompts` has the texts of names. A
    name without a text is not judged.

    When to use: CES cases with evaluation expectations.

    Attributes:
        prompts: Wording of named expectations: resource name, or its last segment, to text.
    """

    name: ClassVar[str] = "evaluation_expectations"
    needs: ClassVar[str] = "a case with evaluation expectations"

    threshold: float | None = 1.0
    prompts: dict[str, str] = Field(default_factory=dict)

    async def judge_conversation(self, sample: Sample, ask: Ask) -> Score | None:
        """Judges a recorded conversation; None if its case has no such expectation."""
        case = sample.eval_case
        names = case.evaluation_expectations if case else []
        if not names or not sample.conversation.turns:
            return None
        texts = {name: text for name in names if (text := self._text(name))}
        found = {name: _unworded(name) for name in names}
        if not texts:
            score = share([None] * len(names), _unworded(names[0])["reason"], self.threshold)
            score.details = {"expectations": list(found.values())}
            return with_items(score, _statements(found.values()))
        sections = statement_sections("expectation", list(texts.values()))
        prompt = self._prompt(f"{self.name}/2", [*dialogue_sections(sample.conversation), *sections])
        judged, vote = await judge_statements(ask, prompt, self.options, len(texts))
        for (name, text), item in zip(texts.items(), judged, strict=True):
            found[name] = {"expectation": name, "prompt": text, **item}
        stated = [found[name] for name in names]
        score = share_score(stated, vote, "expectations", self.threshold)
        return with_items(score, _statements(stated))

    def _text(self, name: str) -> str | None:
        known = self.prompts.get(name) or self.prompts.get(name.rsplit("/", 1)[-1])
        return known or (None if "/evaluationExpectations/" in name else name)


def _unworded(name: str) -> JsonObject:
    reason = f"the config's criteria.evaluation_expectations.prompts has no text for {name}"
    return {"expectation": name, "prompt": None, "score": None, "reason": reason}


def _statements(found: Iterable[JsonObject]) -> list[Statement]:
    return [Statement(item["expectation"], item["prompt"], item["score"], item["reason"]) for item in found]


class ScenarioExpectations(JudgedCriterion):
    """Share of a scenario's expected answers that were given in other words, 0..1.

    When to use: CES scenarios whose expected answers may be paraphrased.
    """

    name: ClassVar[str] = "scenario_expectations"
    needs: ClassVar[str] = "a scenario with expected responses"
    rests_on: ClassVar[RestsOn] = ("words",)

    threshold: float | None = 1.0

    async def judge_conversation(self, sample: Sample, ask: Ask) -> Score | None:
        """Judges a recorded conversation; None if no expected answer needs it."""
        wanted = {
            place: outcome.expectation.text or ""
            for place, outcome in enumerate(sample.scenario_outcomes)
            if outcome.outcome is None
            and outcome.expectation
            and outcome.expectation.kind == "agent_response"
        }
        if not wanted:
            return None
        sections = statement_sections("expected answer", list(wanted.values()))
        prompt = self._prompt(f"{self.name}/2", [*spoken_sections(sample.conversation), *sections])
        judged, vote = await judge_statements(ask, prompt, self.options, len(wanted))
        found: list[JsonObject] = [
            {"place": place, "text": text, **item}
            for (place, text), item in zip(wanted.items(), judged, strict=True)
        ]
        score = share_score(found, vote, "answers", self.threshold)
        answers = [ExpectedAnswer(item["place"], item["score"], item["quote"]) for item in found]
        return with_items(score, answers)
