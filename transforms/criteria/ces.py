"""CES's criteria: of a turn (tool invocation, similarity, hallucination), and of a whole conversation."""

from collections.abc import Mapping, Sequence
from statistics import median_low
from typing import Literal, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from pydantic import Field

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import ExpectedTurn, ToolCall
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import JudgedCriterion, MeasuredCriterion, calls_text
from turnwise.transforms.effects.changes import value_text
from turnwise.transforms.effects.equivalence import OpenPair
from turnwise.transforms.judging import prompts
from turnwise.transforms.judging.ask import Ask, Question, ask_all
from turnwise.transforms.local_judge import grounding
from turnwise.transforms.matching.calls import directive_text, plain_text, tool_identity, value_matches
from turnwise.transforms.matching.expectations import (
    ExpectationOutcome,
    agent_updates,
    tool_threshold,
    turn_texts,
)
from turnwise.transforms.matching.sample import MISSING_TURN, Sample, TurnPair
from turnwise.transforms.text.cleaning import quoted
from turnwise.transforms.text.sentences import sentences

NO_CLAIM = -1
HALLUCINATION_LABELS = {1: "Justified", 0: "Not Justified", NO_CLAIM: "No Claim To Assess"}
UNDECIDED = "Undecided"
"""Label of a value of the local judge that no number or negation decides, and that is not probable."""

Justification = Literal["justified", "not_justified", "no_claim"]
_CLAIM_SCORES = {"not_justified": 0, "no_claim": NO_CLAIM, "justified": 1}


class HallucinationReply(prompts.ReasonedReply):
    """Verdict on the claims of an answer."""

    claim_quote: str = Field(description="The words of the answer that decide; empty if it claims nothing.")
    context_quote: str = Field(
        description="The words of the context that justify or contradict them; or empty."
    )
    reason: str = Field(description="Why, in one or two sentences.")
    verdict: Justification

    def inapplicable(self) -> Sequence[bool]:
        return (self.verdict == "no_claim",)


class LocalHallucinationReply(HallucinationReply):
    """The local judge's answer; probability None: no claim. `cannot_tell`: words alone do not refute it."""

    probability: float | None
    cannot_tell: bool

    def inapplicable(self) -> Sequence[bool]:
        """Returns whether no sentence claims anything; an unclear answer claims something."""
        return (self.probability is None,)


class Hallucination(JudgedCriterion):
    """CES's hallucination score of a turn with tool calls: 1 justified, 0 not justified, -1 no claim.

    A score of -1 is outside the scale: it enters no mean and has no outcome. Of several samples
    the most frequent verdict counts, and of equally frequent ones the worst. Where the local judge neither
    justifies nor refutes an answer, its value is the probability that people call it supported, below 0.5.

    When to use: CES's own hallucination figure is needed.
    """

    name = "hallucination"
    needs = "answers of the agent"
    severity_reason = "unsupported"
    special_values = (NO_CLAIM,)

    async def judge(self, sample: Sample, pair: TurnPair, ask: Ask) -> Score | None:
        """Judges a recorded turn; None if it has no tool call, or the case switches the check off."""
        turn = pair.actual
        called = turn is not None and bool(turn.tool_calls or turn.unknown_calls)
        if turn is None or not called or switched_off(pair.expected):
            return None
        answer = "\n".join(turn_texts(turn))
        if not answer.strip():
            return no_claim("The agent said nothing.")
        if turn.grounded is not None and turn.grounded.skipped_reasons:
            return no_claim(turn.grounded.skipped_text)
        context = prompts.context_sections(sample.conversation, turn)
        language = sample.conversation.language
        question = Question(
            prompts.task_prompt("hallucination/2", [*context, prompts.JudgedSection("answer", answer)]),
            HallucinationReply,
            self.options,
            lambda: local_reply(answer, language, prompts.evidence_texts(context)),
            lambda reply: [reply.verdict],
        )
        score, reply = await _most_frequent(ask, question, _CLAIM_SCORES, HALLUCINATION_LABELS)
        if isinstance(reply, LocalHallucinationReply) and reply.cannot_tell:
            score.value, score.label, score.explanation, score.reason = None, None, None, reply.reason
        elif isinstance(reply, LocalHallucinationReply) and reply.probability is not None:
            score.details = {**(score.details or {}), "probability": reply.probability}
            if score.value == NO_CLAIM:
                score.value, score.label = reply.probability, UNDECIDED
        return score

    def gated(self, score: Score) -> Score:
        """Applies the threshold, except to a score without a claim."""
        return super().gated(score) if self.counts(score) else score

    def overall(self, turns: Sequence[Score]) -> Score | None:
        """Returns the share of the turns with claims that are justified, 0..1; None if no turn claims."""
        return super().overall([score for score in turns if self.counts(score)])


def local_reply(answer: str, language: str | None, held: prompts.EvidenceTexts) -> LocalHallucinationReply:
    """Judges an answer without a model, by its first 20,000 characters; see `ground`.

    The verdict is `not_justified` only if a sentence contradicts the evidence, or has a number, date or
    identifier that the evidence does not hold; the probability is then 0. Other words can only justify an
    answer, because answers paraphrase tool results.
    """
    texts = [answer[start:end] for start, end in sentences(answer[: prompts.MAX_SECTION], language)]
    verdicts = zip(grounding.ground(texts, *held), texts, strict=True)
    claims = [(item, text, item.coverage) for item, text in verdicts if item.coverage is not None]
    verdict: Justification = "no_claim"
    reason, value, claim, quote, cannot_tell = "No sentence claims anything.", None, "", "", False
    if claims:
        least, claim, _ = min(claims, key=lambda claim: (not claim[0].is_certain, claim[2]))
        quote, reason = least.quote, least.reason
        items = [item for item, _, _ in claims]
        value, at_most = grounding.probable_range(items)
        if least.is_certain:
            verdict, value = "not_justified", 0.0
        elif value >= grounding.PROBABLE and all(item.unsure != grounding.OTHER_POLARITY for item in items):
            verdict = "justified"
            if least.label != "supported":
                reason = f"The evidence holds most of the answer; least of “{claim}”."
        elif at_most >= grounding.PROBABLE:
            reason, cannot_tell = next(item.unsure for item in items if item.unsure), True
    quotes = {"claim_quote": claim, "context_quote": quote, "reason": reason}
    return LocalHallucinationReply(**quotes, verdict=verdict, probability=value, cannot_tell=cannot_tell)


def in_ces_terms(score: Score) -> Score:
    """Returns a score as CES has it, 1, 0 or -1; one without a value if the local judge is unsure."""
    if score.value is None:
        return score
    if score.label == UNDECIDED:
        return replace(score, value=None, reason=f"the local judge is unsure, {score.value:.2f}")
    return replace(score, value=float(score.value if score.value < 0 else score.value >= grounding.PROBABLE))


def unjustified_text(score: Score) -> str:
    """Returns the sentence that makes a score 0, and why."""
    claim = (score.details or {}).get("claim_quote")
    sentence = f"“{value_text(claim)}” is not justified" if claim else "the answer is not justified"
    return f"hallucination: {sentence}" + (f": {score.explanation}" if score.explanation else ".")


def no_claim(explanation: str) -> Score:
    """Returns the score of a turn without a claim."""
    return Score(float(NO_CLAIM), label=HALLUCINATION_LABELS[NO_CLAIM], explanation=explanation)


def switched_off(expected: ExpectedTurn | None) -> bool:
    """Returns whether a golden turn's expected answers all switch the hallucination check off."""
    key, flag = "agentResponseHallucinationMetricsConfigOverride", "enableHallucinationMetrics"
    stated = expected.expectations if expected else ()
    answers = [e.wire or {} for e in stated if e.kind == "agent_response"]
    return bool(answers) and all(key in wire and not wire[key].get(flag) for wire in answers)


class ToolInvocation(MeasuredCriterion):
    """Share of the tools expected in a turn that were called, 0..1 (CES's toolInvocationScore).

    The details hold the share called in the expected order, every call's parameterCorrectnessScore and the
    extra calls. Without a threshold of its own, a CES case's thresholds decide.

    When to use: Check the tools of CES cases, with partial credit.
    """

    name = "tool_invocation_score"
    needs = "expected calls"
    rests_on = ("calls",)
    needs_expected_calls = True

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        case = sample.eval_case
        if pair.expected is None or case is None or (replay := sample.replay(pair)).tool_score is None:
            return None
        calls: list[JsonObject] = [
            {
                "tool": tool_identity(o.expectation.tool_call) if o.expectation.tool_call else None,
                "called": o.observed is not None,
                "parameters": o.parameters.value if o.parameters else None,
                "wrong": list(o.parameters.wrong) if o.parameters else [],
                "outcome": o.parameter_outcome,
            }
            for o in replay.outcomes
            if o.expectation and o.expectation.kind == "tool_call"
        ]
        extra = [o.observed for o in replay.outcomes if o.expectation is None]
        names = [tool_identity(call) for call in extra if isinstance(call, ToolCall)]
        details = {"ordered": replay.ordered_score, "calls": calls, "extra": names}
        score = Score(replay.tool_score, label=pair.label, details=details)
        if self.threshold is None and case.dialect == "ces":
            score.threshold, score.outcome = tool_threshold(case, pair.expected), replay.tool_outcome
        return score

    def why_failed(self, sample: Sample, pair: TurnPair | None, score: Score) -> str:
        why = super().why_failed(sample, pair, score)
        outcomes = sample.replay(pair).outcomes if pair is not None else []
        missed = [o.expectation.tool_call for o in outcomes if o.expectation and o.observed is None]
        made = pair.actual.tool_calls if pair is not None and pair.actual is not None else []
        return f"{why} Not called: {calls_text([*filter(None, missed)])}. Made: {calls_text(made)}."


SIMILARITY_LABELS = (
    "Completely Inconsistent / Contradictory",
    "Largely Inconsistent (Major Omissions)",
    "Partially Consistent (Minor Omissions)",
    "Mostly Consistent",
    "Fully Consistent",
)


class SimilarityReply(prompts.ReasonedReply):
    """Verdict on the similarity of two answers."""

    expected_quote: str = Field(description="The words of the expected answer that decide.")
    actual_quote: str = Field(description="The words of the actual answer that decide.")
    reason: str = Field(description="Why, in one or two sentences.")
    score: int = Field(ge=0, le=4)


class SemanticSimilarity(JudgedCriterion):
    """Similarity in meaning of a golden turn's answers to the expected ones, 0 to 4; median of the samples.

    All expected and all observed texts of the turn are compared together. Expectations compared by EQUALS or
    CONTAINS are left out, and a turn with no others has no score; a turn with all expected texts word for
    word scores 4 without a judge. A CES case's thresholds apply unless the config sets one; the mean over the
    turns is held against the mean of theirs.

    When to use: CES golden cases whose answers are compared by meaning.
    """

    name = "semantic_similarity"
    needs = "an expected response"
    severity_reason = "text"
    rests_on = ("words",)
    scale = (0.0, 4.0)

    threshold: float | None = 3.0

    async def judge(self, sample: Sample, pair: TurnPair, ask: Ask) -> Score | None:
        if sample.eval_case is None or pair.expected is None:
            return None
        score = await self._score(sample, pair, ask)
        is_ces = sample.eval_case.dialect == "ces" and "threshold" not in self.model_fields_set
        if score is not None and is_ces:
            score.threshold = similarity_threshold(sample.eval_case, pair.expected)
        return score

    def overall(self, turns: Sequence[Score]) -> Score | None:
        """Returns the mean over the turns, held against the mean of their gates."""
        overall = super().overall(turns)
        gates = [s.threshold for s in turns if s.value is not None and s.threshold is not None]
        if overall is not None and overall.value is not None and gates:
            overall.threshold = self.mean(gates)
            overall.outcome = "FAIL" if not self.reaches(overall) else None if overall.reason else "PASS"
        return overall

    async def _score(self, sample: Sample, pair: TurnPair, ask: Ask) -> Score | None:
        stated = [(o, o.expectation) for o in sample.replay(pair).outcomes if o.outcome != "SKIPPED"]
        of_answers = [(o, e) for o, e in stated if e is not None and e.kind == "agent_response"]
        wanted = [o for o, e in of_answers if e.comparison == "SEMANTIC_SIMILARITY"]
        if not wanted or not sample.eval_case or not sample.eval_case.similarity_enabled:
            return None
        if pair.actual is None:
            return Score(0.0, label=MISSING_TURN)
        if all(o.outcome == "PASS" for o in wanted):
            return Score(4.0, label=SIMILARITY_LABELS[4], explanation="The expected text was said.")
        actual = "\n".join(turn_texts(pair.actual))
        if not turn_texts(pair.actual):
            return Score(0.0, label=SIMILARITY_LABELS[0], explanation="The agent said nothing.")
        expected = "\n".join(o.expectation.text or "" for o in wanted if o.expectation)
        both = {"expected answer": expected, "actual answer": actual}
        sections = [prompts.JudgedSection(name, text) for name, text in both.items()]

        def local_reply() -> SimilarityReply:
            answer = grounding.compare_answers(expected[: prompts.MAX_SECTION], actual[: prompts.MAX_SECTION])
            texts = {"expected_quote": "", "actual_quote": answer.quote, "reason": answer.reason}
            return SimilarityReply(**texts, score=answer.score)

        prompt = prompts.task_prompt("semantic_similarity/2", sections)
        question = Question(prompt, SimilarityReply, self.options, local_reply, lambda reply: [reply.score])
        answers = await ask_all(ask, question)
        if not answers.replies:
            return Score(None, reason=answers.reason, judge=answers.use)
        scores: list[JsonValue] = [reply.score for reply in answers.replies]
        middle = median_low(reply.score for reply in answers.replies)
        reply = answers.replies[scores.index(middle)]
        return prompts.reply_score(answers, reply, float(middle), SIMILARITY_LABELS[middle], scores=scores)


def similarity_threshold(case: EvalCase, expected: ExpectedTurn) -> int:
    """Returns the gate of a golden turn's similarity: the turn's own, or else the case's."""
    stated = expected.thresholds.semantic_similarity if expected.thresholds else None
    return case.thresholds.semantic_similarity if stated is None else stated


class OpenValue(NamedTuple):
    """A value to be compared by a `$matchType` directive, and the place of its expectation among outcomes.

    Its name is that of the parameter or variable, or `response` for that of a tool.
    """

    position: int
    name: str
    directive: JsonObject
    actual: JsonValue


def open_values(outcomes: Sequence[ExpectationOutcome], updates: JsonObject) -> list[OpenValue]:
    """Returns the values that code could not compare; `updates` holds the agent's changes of variables."""
    values = []
    for index, outcome in enumerate(outcomes):
        expectation, observed = outcome.expectation, outcome.observed
        wanted: JsonObject | None = {}
        actual: JsonObject | None = {}
        if expectation is None or outcome.outcome == "SKIPPED":
            continue
        if expectation.kind == "updated_variables":
            wanted, actual = expectation.variables, updates
        elif expectation.tool_call is not None:
            wanted, actual = expectation.tool_call.args, getattr(observed, "args", None)
        elif expectation.tool_response is not None and observed is not None:
            wanted = {"response": expectation.tool_response.response}
            actual = {"response": getattr(observed, "response", None)}
        values += [
            OpenValue(index, name, value, actual[name])
            for name, value in (wanted or {}).items()
            if actual and name in actual and value_matches(value, actual[name]) is None
        ]
    return values


class SemanticMatch(JudgedCriterion):
    """Share of the values compared by meaning (`$matchType: semantic`) that mean the same, 0..1.

    It compares parameters of tool calls, tool responses and variables with different wording, and decides the
    outcome of these expectations. What `tool_effects_v1` and `final_state_v1` leave open is asked by its
    options, whether or not it stands in the config.

    When to use: CES cases with `$matchType: semantic`.
    """

    name = "semantic_match"
    needs = "an expected call with an argument to be compared by meaning"
    severity_reason = "text"
    rests_on = ("calls",)

    async def judge(self, sample: Sample, pair: TurnPair, ask: Ask) -> Score | None:
        if sample.eval_case is None or pair.expected is None or not pair.expected.expectations:
            return None
        return await self._ask(ask, open_values(sample.replay(pair).outcomes, agent_updates(pair.actual)))

    async def judge_conversation(self, sample: Sample, ask: Ask) -> Score | None:
        return await self._ask(ask, open_values(sample.scenario_outcomes, {}))

    async def compare(self, ask: Ask, pairs: Sequence[OpenPair]) -> Score | None:
        """Compares pairs that a measured criterion left open; the items of the score are in their order."""
        values = [
            OpenValue(index, pair.name, {"$matchValue": pair.expected}, pair.actual)
            for index, pair in enumerate(pairs)
        ]
        return await self._ask(ask, values)

    async def _ask(self, ask: Ask, values: Sequence[OpenValue]) -> Score | None:
        if not values:
            return None
        sections: list[prompts.Section] = []
        items: list[JsonObject] = []
        for i, (index, name, directive, actual) in enumerate(values, 1):
            expected = directive_text(directive)
            texts = {"parameter": name, "expected value": expected, "actual value": plain_text(actual)}
            if example := directive.get("$originalValue"):
                texts["example"] = plain_text(example)
            sections += [prompts.Section(f"pair {i}, {kind}", text) for kind, text in texts.items()]
            items.append({"place": index, "name": name, "expected": expected, "actual": actual})
        return await self._judge_items(ask, prompts.task_prompt(f"{self.name}/2", sections), "values", items)


# Whole conversations: expectations, rubrics and user goal.

_GOAL_SCORES = {"not_satisfied": 0, "unspecified": -1, "satisfied": 1}
GOAL_LABELS = {1: "User Task Satisfied", 0: "User Task Not Satisfied", -1: "User Task Unspecified"}


class RubricGrade(prompts.ReasonedReply):
    """Grade of one rubric."""

    number: int = Field(description="Number of the rubric, as in its section's name.")
    quote: str = Field(description="The words of the conversation that decide; empty if there are none.")
    reason: str = Field(description="Why, in one or two sentences.")
    grade: int = Field(ge=0, le=4)


class RubricsReply(prompts.Reply):
    """One entry for every rubric."""

    rubrics: list[RubricGrade]


class ScenarioRubrics(JudgedCriterion):
    """Mean score of a case's rubrics over the whole conversation, 0..1; of several samples the median.

    When to use: CES scenarios with rubrics.
    """

    name = "scenario_rubrics"
    needs = "a scenario with rubrics"

    async def judge_conversation(self, sample: Sample, ask: Ask) -> Score | None:
        """Judges a recorded conversation; without a rubric None, or no score where it is a gate."""
        texts = [rubric.text for rubric in sample.eval_case.rubrics] if sample.eval_case else []
        if not sample.conversation.turns:
            return None
        if not texts:
            return None if self.threshold is None else Score(None, reason="the case has no rubrics")

        def grades(reply: RubricsReply) -> list[int | None]:
            return prompts.votes_of(((g.number, g.grade) for g in reply.rubrics), len(texts))

        sections = prompts.dialogue_sections(sample.conversation)
        sections += prompts.statement_sections("rubric", texts)
        prompt = prompts.task_prompt(f"{self.name}/2", sections)
        answers = await ask_all(ask, Question(prompt, RubricsReply, self.options, verdicts=grades))
        rubrics, graded = list[JsonObject](), [(reply, grades(reply)) for reply in answers.replies]
        for i, text in enumerate(texts):
            usable = [(grade, reply) for reply, given in graded if (grade := given[i]) is not None]
            rubrics.append({"rubric": text, "score": None, "reason": None})
            if usable:
                middle = median_low(grade for grade, _ in usable)
                reply = next(reply for grade, reply in usable if grade == middle)
                chosen = next(grade for grade in reply.rubrics if grade.number == i + 1)
                rubrics[-1] |= {"score": middle / 4, "reason": chosen.reason}
                rubrics[-1] |= quoted(chosen.quote, prompt.evidence)
        scores = [rubric["score"] for rubric in rubrics if rubric["score"] is not None]
        score = Score(None, judge=answers.use, details={"rubrics": rubrics, **prompts.left_out(prompt)})
        if len(scores) == len(rubrics):
            score.value = sum(scores) / len(scores)
        else:
            score.reason = prompts.unjudged_reason(len(rubrics) - len(scores), len(rubrics), answers.reason)
        return score


class GoalReply(prompts.ReasonedReply):
    """Verdict on the user goal."""

    quote: str = Field(description="The words of the conversation that decide.")
    reason: str = Field(description="Why, in one or two sentences.")
    verdict: Literal["satisfied", "not_satisfied", "unspecified"]


class UserGoalSatisfaction(JudgedCriterion):
    """CES's user goal of a scenario: 1 satisfied, 0 not satisfied, -1 unspecified.

    The outcome is PASS if the score matches the expected outcome of the goal, SKIPPED if the scenario ignores
    the goal. A score of -1 is outside the scale: it enters no mean. Of several samples the most frequent
    verdict counts, and of equally frequent ones the worst.

    When to use: CES scenarios with a user goal.
    """

    name = "user_goal_satisfaction"
    needs = "a scenario with a task"
    special_values = (-1,)

    threshold: float | None = 1.0

    async def judge_conversation(self, sample: Sample, ask: Ask) -> Score | None:
        scenario = sample.eval_case
        if scenario is None or scenario.kind != "scenario" or not scenario.user_goal_enabled:
            return None
        if not scenario.task or not sample.conversation.turns:
            return None
        facts = [f"{fact.name}: {fact.value}" for fact in scenario.user_facts]
        sections = [prompts.Section("task", scenario.task)]
        sections += [prompts.Section("what the user knows", fact) for fact in facts]
        sections += prompts.dialogue_sections(sample.conversation)
        prompt = prompts.task_prompt(f"{self.name}/2", sections)
        question = Question(prompt, GoalReply, self.options, verdicts=lambda reply: [reply.verdict])
        score, reply = await _most_frequent(ask, question, _GOAL_SCORES, GOAL_LABELS)
        if reply is None:
            return score
        is_wanted = reply.verdict == ("satisfied" if scenario.user_goal == "SATISFIED" else "not_satisfied")
        score.outcome = "PASS" if is_wanted else "FAIL"
        if scenario.user_goal == "IGNORED":
            score.outcome = "SKIPPED"
        elif scenario.user_goal == "REJECTED":
            score.reason = "the scenario expects that the goal is not satisfied"
        return score


V = TypeVar("V", HallucinationReply, GoalReply)


async def _most_frequent(
    ask: Ask, question: Question[V], worst_first: Mapping[str, int], labels: Mapping[int, str]
) -> tuple[Score, V | None]:
    """Returns the score of the most frequent verdict, of equally frequent ones the worst, and its reply."""
    answers = await ask_all(ask, question)
    if not answers.replies:
        return Score(None, reason=answers.reason, judge=answers.use), None
    verdicts: list[JsonValue] = [reply.verdict for reply in answers.replies]
    verdict = max(worst_first, key=verdicts.count)
    reply, value = answers.replies[verdicts.index(verdict)], worst_first[verdict]
    return prompts.reply_score(answers, reply, float(value), labels[value], verdicts=verdicts), reply


# Judged items of CES's criteria: statements, answers, rubrics and values, with their scores.


class JudgedItem(Struct, frozen=True):
    """A statement, an answer, a rubric or a value that was judged on its own; see `OpenValue`.

    Attributes:
        name: What the case states, or the name of the resource that does; of a value, its own.
        score: 0..1; of all but rubrics 1.0 yes or 0.0 no; None: not judged, for the reason.
        prompt: Text that was judged; None: the config has none.
    """

    name: str
    score: float | None
    reason: str | None = None
    position: int = 0
    prompt: str | None = None
    quote: str | None = None


_ITEMS = {"expectations": "expectation", "rubrics": "rubric", "answers": "text", "values": "name"}
"""Details that hold judged items -> what each item is named by."""


def items_of(score: Score | None) -> tuple[JudgedItem, ...]:
    """Returns the items in the details of a score, in the order of the case; it may have none."""
    details = (score.details if score else None) or {}
    return tuple(
        JudgedItem(d[key], d["score"], d["reason"], d.get("place", 0), d.get("prompt"), d.get("quote"))
        for name, key in _ITEMS.items()
        for d in details.get(name, [])
    )


# CES's statements about a whole conversation: evaluation expectations, and expected answers of scenarios.


class EvaluationExpectations(JudgedCriterion):
    """Share of a case's evaluation expectations that the conversation meets, 0..1; PASS or FAIL each.

    A case states an expectation itself, or names the resource that does; `prompts` has the texts of names. A
    name without a text is not judged.

    When to use: CES cases with evaluation expectations.

    Attributes:
        prompts: Wording of named expectations: resource name, or its last segment, to text.
    """

    name = "evaluation_expectations"
    needs = "a case with evaluation expectations"

    threshold: float | None = 1.0
    prompts: dict[str, str] = Field(default_factory=dict)

    async def judge_conversation(self, sample: Sample, ask: Ask) -> Score | None:
        names = sample.eval_case.evaluation_expectations if sample.eval_case else []
        if not names or not sample.conversation.turns:
            return None
        stated: dict[str, JsonObject] = {}
        for name in names:
            text = self.prompts.get(name) or self.prompts.get(name.rsplit("/", 1)[-1])
            text = text or ("" if "/evaluationExpectations/" in name else name)
            stated[name] = {"expectation": name, "prompt": text or None}
            if not text:
                reason = f"the config's criteria.evaluation_expectations.prompts has no text for {name}"
                stated[name] |= {"score": None, "reason": reason}
        texts = [item["prompt"] for item in stated.values() if item["prompt"]]
        if not texts:
            details = {"expectations": list(stated.values())}
            return Score(None, stated[names[0]]["reason"], details=details)
        sections = prompts.dialogue_sections(sample.conversation)
        sections += prompts.statement_sections("expectation", texts)
        prompt = prompts.task_prompt(f"{self.name}/2", sections)
        return await self._judge_items(ask, prompt, "expectations", [stated[name] for name in names])


class ScenarioExpectations(JudgedCriterion):
    """Share of a scenario's expected answers that were given in other words, 0..1.

    When to use: CES scenarios whose expected answers may be paraphrased.
    """

    name = "scenario_expectations"
    needs = "a scenario with expected responses"
    rests_on = ("words",)

    threshold: float | None = 1.0

    async def judge_conversation(self, sample: Sample, ask: Ask) -> Score | None:
        wanted: list[JsonObject] = [
            {"place": index, "text": outcome.expectation.text or ""}
            for index, outcome in enumerate(sample.scenario_outcomes)
            if outcome.outcome is None
            and outcome.expectation
            and outcome.expectation.kind == "agent_response"
        ]
        if not wanted:
            return None
        sections = prompts.spoken_sections(sample.conversation)
        sections += prompts.statement_sections("expected answer", [answer["text"] for answer in wanted])
        prompt = prompts.task_prompt(f"{self.name}/2", sections)
        return await self._judge_items(ask, prompt, "answers", wanted)
