"""CES's criteria of a whole conversation: expectations, rubrics and user goal."""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median_low
from typing import ClassVar, Literal, TypeVar

from msgspec import Struct
from pydantic import Field

from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import JudgedCriterion, RestsOn
from turnwise.transforms.judging.ask import Ask, Question, ask_all
from turnwise.transforms.judging.prompts import (
    ReasonedReply,
    Reply,
    Section,
    dialogue_sections,
    judge_statements,
    left_out,
    reply_score,
    share,
    share_score,
    spoken_sections,
    statement_sections,
    task_prompt,
    unjudged_reason,
)
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.text.cleaning import quoted

T = TypeVar("T")
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
        """Judges a recorded conversation; without a rubric None, or no score where it is a gate."""
        texts = [rubric.text for rubric in sample.eval_case.rubrics] if sample.eval_case else []
        if not sample.conversation.turns:
            return None
        if not texts:
            return None if self.threshold is None else Score(None, reason="the case has no rubrics")

        def grades(reply: RubricsReply) -> list[RubricGrade | None]:  # a rubric that is graded twice has none
            by_rubric = [[g for g in reply.rubrics if g.number == i] for i in range(1, len(texts) + 1)]
            return [given[0] if len(given) == 1 else None for given in by_rubric]

        sections = [*dialogue_sections(sample.conversation), *statement_sections("rubric", texts)]
        prompt = task_prompt(f"{self.name}/2", sections)
        question = Question(
            prompt,
            RubricsReply,
            self.options,
            verdicts=lambda reply: [grade and grade.grade for grade in grades(reply)],
        )
        answers = await ask_all(ask, question)
        rubrics: list[JsonObject] = []
        for i, text in enumerate(texts):
            usable = [grade for reply in answers.replies if (grade := grades(reply)[i])]
            rubrics.append({"rubric": text, "score": None, "reason": None})
            if usable:
                middle = median_low(grade.grade for grade in usable)
                chosen = next(grade for grade in usable if grade.grade == middle)
                rubrics[-1] |= {"score": middle / 4, "reason": chosen.reason}
                rubrics[-1] |= quoted(chosen.quote, prompt.evidence)
        scores = [rubric["score"] for rubric in rubrics if rubric["score"] is not None]
        score = Score(None, judge=answers.use, details={"rubrics": rubrics, **left_out(prompt)})
        if len(scores) == len(rubrics):
            score.value = sum(scores) / len(scores)
        else:
            score.reason = unjudged_reason(len(rubrics) - len(scores), len(rubrics), answers.reason)
        return with_items(score, "rubrics", "rubric")


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
        prompt = task_prompt(f"{self.name}/2", [*sections, *dialogue_sections(sample.conversation)])
        question = Question(prompt, GoalReply, self.options, verdicts=lambda reply: [reply.verdict])
        answers = await ask_all(ask, question)
        if not answers.replies:
            return Score(None, reason=answers.reason, judge=answers.use)
        verdicts = [reply.verdict for reply in answers.replies]
        verdict = most_frequent(verdicts, _SCORES)
        reply, value = answers.replies[verdicts.index(verdict)], _SCORES[verdict]
        score = reply_score(answers, reply, float(value), LABELS[value], verdicts=verdicts)
        is_wanted = verdict == ("satisfied" if scenario.user_goal == "SATISFIED" else "not_satisfied")
        score.outcome = "PASS" if is_wanted else "FAIL"
        if scenario.user_goal == "IGNORED":
            score.outcome = "SKIPPED"
        elif scenario.user_goal == "REJECTED":
            score.reason = "the scenario expects that the goal is not satisfied"
        return score


def most_frequent(verdicts: Sequence[T], worst_first: Iterable[T]) -> T:
    """Returns the most frequent verdict, and of equally frequent ones the worst."""
    counts = Counter(verdicts)
    return max(worst_first, key=counts.__getitem__)


# Judged items of CES's criteria: statements, answers, rubrics and values, with their scores.


class JudgedItem(Struct, frozen=True):
    """A statement, an answer, a rubric or a value that was judged on its own.

    Attributes:
        name: The expectation as the case states it, or the name of its resource; the rubric; the parameter or
            variable, `response` for a tool's response.
        score: 0..1; of all but rubrics 1.0 yes or 0.0 no; None: not judged.
        reason: Reason of the score, or why there is none.
        position: Index of its expectation among the outcomes.
        prompt: Text that was judged; None: the config has none.
        quote: The agent's words that decide.
    """

    name: str
    score: float | None
    reason: str | None = None
    position: int = 0
    prompt: str | None = None
    quote: str | None = None


class ItemScore(Score):
    """Score of judged items, in the order of the case; the details hold the same for the table of scores."""

    items: tuple[JudgedItem, ...] = ()


def with_items(score: Score, name: str, key: str) -> ItemScore:
    """Returns a score with the items that stand under `name` in its details, each named by `key`."""
    items = [
        JudgedItem(d[key], d["score"], d["reason"], d.get("place", 0), d.get("prompt"), d.get("quote"))
        for d in (score.details or {}).get(name, [])
    ]
    values = {name: getattr(score, name) for name in Score.__struct_fields__}
    return ItemScore(**values, items=tuple(items))


def items_of(score: Score | None) -> tuple[JudgedItem, ...]:
    """Returns the items of a score; none of a score without items."""
    return score.items if isinstance(score, ItemScore) else ()


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
        names = sample.eval_case.evaluation_expectations if sample.eval_case else []
        if not names or not sample.conversation.turns:
            return None
        stated: dict[str, JsonObject] = {}
        texts: dict[str, str] = {}
        for name in names:
            reason = f"the config's criteria.evaluation_expectations.prompts has no text for {name}"
            stated[name] = {"expectation": name, "prompt": None, "score": None, "reason": reason}
            text = self.prompts.get(name) or self.prompts.get(name.rsplit("/", 1)[-1])
            text = text or ("" if "/evaluationExpectations/" in name else name)
            if text:
                texts[name] = text
        if not texts:
            score = share([None] * len(names), stated[names[0]]["reason"], self.threshold)
            score.details = {"expectations": list(stated.values())}
            return with_items(score, "expectations", "expectation")
        sections = statement_sections("expectation", list(texts.values()))
        prompt = task_prompt(f"{self.name}/2", [*dialogue_sections(sample.conversation), *sections])
        judged, vote = await judge_statements(ask, prompt, self.options, len(texts))
        for (name, text), item in zip(texts.items(), judged, strict=True):
            stated[name] = {"expectation": name, "prompt": text, **item}
        score = share_score([stated[name] for name in names], vote, "expectations", self.threshold)
        return with_items(score, "expectations", "expectation")


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
        wanted: list[JsonObject] = [
            {"place": index, "text": outcome.expectation.text or ""}
            for index, outcome in enumerate(sample.scenario_outcomes)
            if outcome.outcome is None
            and outcome.expectation
            and outcome.expectation.kind == "agent_response"
        ]
        if not wanted:
            return None
        sections = statement_sections("expected answer", [answer["text"] for answer in wanted])
        prompt = task_prompt(f"{self.name}/2", [*spoken_sections(sample.conversation), *sections])
        return with_items(await self._judge_items(ask, prompt, "answers", wanted), "answers", "text")
