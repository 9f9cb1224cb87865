"""google-adk's comparisons with a reference: tool_trajectory_avg_score and the criteria of answers."""

import operator
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from itertools import takewhile
from statistics import median_low
from typing import ClassVar, Literal, TypeVar

from pydantic import Field, StrictBool, field_validator

from turnwise.schemas.conversation import ExpectedTurn, ToolCall, ToolResponse, Turn
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.schemas.score import CriterionSeverityReason, Score
from turnwise.transforms.criteria.base import (
    ComparesTurns,
    JudgedCriterion,
    RestsOn,
    calls_apart,
    calls_text,
    turn_mismatch,
    words_text,
)
from turnwise.transforms.effects.changes import told_apart
from turnwise.transforms.effects.failures import changed_nothing, has_failed
from turnwise.transforms.judging.ask import Ask, Prompt, Question, ask_all, vote
from turnwise.transforms.judging.prompts import JudgedSection, ReasonedReply, Section, reply_score
from turnwise.transforms.matching.alignment import count_matches, equal_matches
from turnwise.transforms.matching.calls import (
    ArgumentMatcher,
    answered_calls,
    arguments_match,
    frozen,
    held_calls,
    is_directive,
)
from turnwise.transforms.matching.expectations import JUDGE_NEEDED
from turnwise.transforms.matching.sample import EXTRA_TURN, Sample, TurnPair
from turnwise.transforms.text.rouge import RougeType, has_tokens, rouge

MATCH_TYPES = ("EXACT", "IN_ORDER", "ANY_ORDER", "SUPERSET", "SUBSET")
T = TypeVar("T")
"""Calls that are compared all with all in less time than it takes to hash them."""
_CallKey = tuple[str | None, JsonObject | None]


class ToolTrajectory(ComparesTurns):
    """1.0 if a turn's tool calls are the expected ones, else 0.0; partial credit is in the details.

    The details hold precision, recall and F1. A case that states only the calls of the whole conversation
    gets one score for the whole. A call that failed or changed nothing does not count if the same call
    succeeded in this or an earlier turn (`details.retried`), except against a case of google-adk.

    When to use: The agent must follow a script: the same calls, or certain calls in order.

    Attributes:
        match_type: EXACT (the same calls in the same order), IN_ORDER (the expected ones in order, others
            between them allowed), ANY_ORDER or SUPERSET (all expected ones, others allowed) or SUBSET (none
            but expected ones). google-adk's numbers 0, 1, 2 and spellings such as `in-order` are accepted.
        ignore_args: Compare only the names of the tools.
        argument_matchers: Tool (or `*`) -> parameter -> `exact`, `ignore`, `contains`, `regexp` (`pattern`)
            or `number` (`tolerance`, `relative_tolerance`).
        include_intermediate_responses_in_final: Accepted as in google-adk's config, without effect.
        adk_compat: Compare as google-adk does: no arguments differ from `{}`, a directive of CES is a value
            like any other, a call may lack its name, and a retry counts as a call.
    """

    name: ClassVar[str] = "tool_trajectory_avg_score"
    needs: ClassVar[str] = "expected calls"
    rests_on: ClassVar[RestsOn] = ("calls",)
    turns_count: ClassVar[bool] = True
    needs_expected_calls: ClassVar[bool] = True

    threshold: float | None = 1.0
    match_type: str = "EXACT"
    ignore_args: StrictBool = False
    argument_matchers: dict[str, dict[str, ArgumentMatcher]] = Field(default_factory=dict)
    include_intermediate_responses_in_final: bool = False
    adk_compat: StrictBool = False

    @field_validator("match_type", mode="before")
    @classmethod
    def _known_match_type(cls, value: JsonValue) -> str:
        if isinstance(value, int | float) and value in (0, 1, 2):
            return MATCH_TYPES[int(value)]
        text = str(value).strip().upper().replace("-", "_").replace(" ", "_")
        if text not in MATCH_TYPES:
            raise ValueError(f"{value!r} is none of {', '.join(MATCH_TYPES)}")
        return text

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Compares the calls of a recorded turn with those of its golden turn."""
        golden = pair.expected
        expected = golden.tool_calls if golden else None
        if expected is None and pair.label != EXTRA_TURN:
            return None
        if pair.actual is None or golden is None or expected is None:
            return turn_mismatch(pair)
        if not (self.adk_compat or golden.expectations) and sample.calls(pair).are_equal:
            return Score(1.0, details=credit(len(expected), len(expected), len(expected)))
        return self._compare_turns(sample, expected, [pair.actual])

    def score_conversation(self, sample: Sample) -> Score | None:
        """Compares all calls of the conversation, where the case states only those of the whole."""
        if sample.eval_case is None or sample.eval_case.actions is None:
            return None
        return self._compare_turns(sample, sample.eval_case.actions, sample.conversation.turns)

    def _compare_turns(self, sample: Sample, expected: Sequence[ToolCall], turns: Sequence[Turn]) -> Score:
        made = held_calls([call for turn in turns for call in turn.tool_calls], expected)
        score = self._compare(expected, made)
        is_adk = self.adk_compat or (sample.eval_case is not None and sample.eval_case.dialect == "adk")
        if score.value == 1.0 or is_adk:
            return score
        retried = retried_calls(turns, sample.conversation.turns)
        if retried:
            left_out = set(map(id, retried))
            score = self._compare(expected, [call for call in made if id(call) not in left_out])
            score.details = (score.details or {}) | {"retried": [call.name for call in retried]}
        return score

    def _compare(self, expected: Sequence[ToolCall], actual: Sequence[ToolCall]) -> Score:
        wanted, made = self._keys(expected), self._keys(actual)
        if wanted == made:
            return Score(1.0, details=credit(len(expected), len(expected), len(actual)))
        if self._needs_rules(expected):
            return self._compare_one_by_one(expected, actual)
        partners = _equal_partners(wanted, made)
        return self._score(expected, actual, wanted, made, operator.eq, partners)

    def partners(self, expected: Sequence[ToolCall], actual: Sequence[ToolCall]) -> list[int | None]:
        """Returns for every expected call the index of the actual one that is as good, or None.

        A call that only a judge can compare has no partner.
        """
        if self._needs_rules(expected):
            return count_matches(expected, actual, partial(self._is_same, False))
        return _equal_partners(self._keys(expected), self._keys(actual))

    def _needs_rules(self, expected: Sequence[ToolCall]) -> bool:
        values = (
            [] if self.adk_compat else [value for call in expected for value in (call.args or {}).values()]
        )
        return bool(self.argument_matchers) or any(map(is_directive, values))

    def _keys(self, calls: Sequence[ToolCall]) -> list[_CallKey]:
        if self.ignore_args:
            return [(call.name, None) for call in calls]
        if self.adk_compat:
            return [(call.name, call.args) for call in calls]
        return [(call.name, call.args or None) for call in calls]

    def _compare_one_by_one(self, expected: Sequence[ToolCall], actual: Sequence[ToolCall]) -> Score:
        """Compares with matchers and directives; a call that only a judge can compare counts both ways."""
        scores = []
        for unclear in (False, True):
            same = partial(self._is_same, unclear)
            partners = count_matches(expected, actual, same)
            scores.append(self._score(expected, actual, expected, actual, same, partners))
        if scores[0].value == scores[1].value:
            return scores[0]
        return Score(None, reason=JUDGE_NEEDED, details=scores[0].details)

    def _is_same(self, unclear: bool, expected: ToolCall, actual: ToolCall) -> bool:
        if expected.name != actual.name:
            return False
        rules = self.argument_matchers
        matchers = {**rules.get("*", {}), **rules.get(expected.name or "", {})}
        verdict = self.ignore_args or arguments_match(expected.args, actual.args, matchers)
        return unclear if verdict is None else verdict

    def _score(
        self,
        expected: Sequence[ToolCall],
        actual: Sequence[ToolCall],
        wanted: Sequence[T],
        made: Sequence[T],
        same: Callable[[T, T], bool],
        partners: list[int | None],
    ) -> Score:
        """Scores two lists of calls or their keys, compared by `same`."""
        used = set(partners)
        missing = [call for call, j in zip(expected, partners, strict=True) if j is None]
        extra = [call for j, call in enumerate(actual) if j not in used]
        matched, rest = len(partners) - len(missing), iter(made)
        if self.match_type == "EXACT":
            is_match = len(wanted) == len(made) and all(map(same, wanted, made))
        elif self.match_type == "IN_ORDER":
            is_match = all(any(same(want, call) for call in rest) for want in wanted)
        else:
            is_match = matched == len(made if self.match_type == "SUBSET" else wanted)
        details = credit(matched, len(wanted), len(made))
        details |= {"missing": [call.name for call in missing], "extra": [call.name for call in extra]}
        explanation = None if is_match else self._why(expected, actual, missing, extra)
        return Score(float(is_match), explanation=explanation, details=details)

    def _why(
        self,
        expected: Sequence[ToolCall],
        actual: Sequence[ToolCall],
        missing: Sequence[ToolCall],
        extra: Sequence[ToolCall],
    ) -> str:
        names_extra = bool(extra) and self.match_type in ("EXACT", "SUBSET")
        wanted, made = calls_apart(missing, extra if names_extra else actual)
        parts = [f"Missing: {wanted}."] if missing and self.match_type != "SUBSET" else []
        if names_extra:
            parts.append(f"Not expected: {made}.")
        elif parts:
            parts.append(f"Made: {made}.")
        if parts:
            return " ".join(parts)
        return f"The order differs. Expected: {calls_text(expected)}. Made: {calls_text(actual)}."


def _equal_partners(wanted: Sequence[_CallKey], made: Sequence[_CallKey]) -> list[int | None]:
    """Pairs equal calls: first those at the same place, which needs no hashes, then the others."""
    partners = [i if i < len(made) and want == made[i] else None for i, want in enumerate(wanted)]
    columns = [j for j in range(len(made)) if j >= len(partners) or partners[j] is None]
    names = {made[j][0] for j in columns}
    rows = [i for i, partner in enumerate(partners) if partner is None and wanted[i][0] in names]
    if not rows:
        return partners
    matches = equal_matches([_hashed(wanted[i]) for i in rows], [_hashed(made[j]) for j in columns])
    for i, column in zip(rows, matches, strict=True):
        partners[i] = None if column is None else columns[column]
    return partners


def _hashed(key: _CallKey) -> Hashable:
    return key[0], frozen(key[1])


def retried_calls(turns: Sequence[Turn], recorded: Sequence[Turn]) -> list[ToolCall]:
    """Returns the calls of some turns without effect that succeeded in one of them, or in an earlier turn."""
    idle = [call for turn in turns for call, response in answered_calls(turn) if _is_idle(call, response)]
    if not idle:  # as in most turns
        return []
    before = takewhile(lambda turn: turn is not turns[0], recorded)
    succeeded = {
        _hashed((call.name, call.args or None))
        for turn in (*before, *turns)
        for call, response in answered_calls(turn)
        if not _is_idle(call, response)
    }
    return [call for call in idle if _hashed((call.name, call.args or None)) in succeeded]


def _is_idle(call: ToolCall, response: ToolResponse | None) -> bool:
    return changed_nothing(response) or has_failed(response, call.name or "", call.args)


def credit(matched: int, expected: int, actual: int) -> JsonObject:
    """Returns precision, recall and F1 of `matched` calls; a side without calls has nothing wrong (1.0)."""
    precision = matched / actual if actual else 1.0
    recall = matched / expected if expected else 1.0
    both = precision + recall
    f1 = 2 * precision * recall / both if both else 0.0
    counts = {"matched": matched, "expected": expected, "actual": actual}
    return {**counts, "precision": precision, "recall": recall, "f1": f1}


# google-adk's criteria that compare an answer with a reference.

# response_match_score: ROUGE of the agent's answer and the expected answer.


class ResponseMatch(ComparesTurns):
    """ROUGE F of the agent's final response against the expected one, 0..1.

    When to use: A reference answer exists and its wording matters. It needs no judge and works in any script.

    Attributes:
        rouge_type: `rouge1` as google-adk has it, `rouge2` or `rougeL`.
        include_intermediate_responses_in_final: Compare all messages of the agent in the turn.
        adk_compat: Score a turn without an expected answer, identical texts without words, thoughts, and what
            is no text as google-adk does.
    """

    name: ClassVar[str] = "response_match_score"
    needs: ClassVar[str] = "an expected response"
    severity_reason: ClassVar[CriterionSeverityReason] = "text"
    rests_on: ClassVar[RestsOn] = ("words",)

    threshold: float | None = 0.8
    rouge_type: RougeType = "rouge1"
    include_intermediate_responses_in_final: bool = False
    adk_compat: StrictBool = False

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Compares the words of a recorded turn with those of its golden turn."""
        if pair.expected is None:
            return turn_mismatch(pair) if pair.label == EXTRA_TURN else None
        expected, answer = self._texts(pair.expected, pair.actual or Turn())
        if not expected and not self.adk_compat:
            return None
        if pair.actual is None:
            return turn_mismatch(pair)
        if self.adk_compat:
            expected = pair.expected.adk_text or pair.expected.response or ""
            answer = pair.actual.adk_text or pair.actual.agent or ""
        scores = rouge(expected, answer, self.rouge_type)
        if not scores.fmeasure and not self.adk_compat and not has_tokens(expected):
            return Score(float(expected.strip() == answer.strip()), label="NO_WORDS")
        return Score(scores.fmeasure, details={"precision": scores.precision, "recall": scores.recall})

    def why_failed(self, sample: Sample, pair: TurnPair | None, score: Score) -> str:
        """Returns the expected and the actual text."""
        why = super().why_failed(sample, pair, score)
        if pair is None or pair.expected is None or pair.actual is None:
            return why
        expected, answer = self._texts(pair.expected, pair.actual)
        if expected.strip() and answer.strip():
            expected, answer = told_apart(expected, answer)
        return f"{why} Expected: {words_text(expected)}; said: {words_text(answer)}."

    def _texts(self, expected: ExpectedTurn, actual: Turn) -> tuple[str, str]:
        is_all = self.include_intermediate_responses_in_final
        return expected_text(expected, is_all), answer_text(actual, is_all)


class MatchReply(ReasonedReply):
    """Verdict on an answer and its reference."""

    reference_quote: str = Field(description="The words of the reference that decide.")
    answer_quote: str = Field(description="The words of the agent's answer that decide.")
    reason: str = Field(description="Why, in one or two sentences.")
    verdict: Literal["valid", "invalid"]


class SimulatorReply(ReasonedReply):
    """Verdict on a message of the simulated user."""

    quote: str = Field(description="The words of the message, or of the plan, that decide.")
    reason: str = Field(description="Why, in one or two sentences; name the rule that is violated.")
    verdict: Literal["valid", "invalid"]


ValidityReply = TypeVar("ValidityReply", MatchReply, SimulatorReply)


class AdkJudged(JudgedCriterion):
    """A judged criterion of google-adk.

    Attributes:
        include_intermediate_responses_in_final: Judge all messages of the agent in the turn as its answer.
        adk_compat: An unusable reply of the judge abstains, as in google-adk, and is not asked again.
    """

    threshold: float | None = 0.5
    include_intermediate_responses_in_final: bool = False
    adk_compat: StrictBool = False

    def said(self, turn: Turn) -> str:
        """Returns the answer that is judged."""
        return answer_text(turn, self.include_intermediate_responses_in_final)

    async def judge_validity(self, ask: Ask, prompt: Prompt, reply_model: type[ValidityReply]) -> Score:
        """Returns 1.0 if most of the judge's samples find something valid, else 0.0."""
        question = Question(prompt, reply_model, self.options)
        result = await vote(ask, question, lambda reply: reply.verdict == "valid")
        (ballot,), answers = result.ballots, result.answers
        if ballot.reply is None:
            return Score(None, reason=answers.reason, judge=answers.use)
        votes = [ballot.positives, ballot.negatives]
        return reply_score(answers, ballot.reply, ballot.value, ballot.reply.verdict, votes=votes)


def answer_text(turn: Turn, all_messages: bool) -> str:
    """Returns the agent's final answer, or all its messages in the turn."""
    if all_messages and turn.agent_messages:
        return "\n".join(turn.agent_messages)
    return turn.agent or ""


def expected_text(expected: ExpectedTurn, all_messages: bool) -> str:
    """Returns the expected final answer, or all expected messages of the turn."""
    final = expected.response or ""
    return "\n".join([*expected.intermediate_responses, final]) if all_messages else final


class FinalResponseMatch(AdkJudged):
    """1.0 if most of the judge's samples find the agent's answer as good as the expected one; else 0.0.

    When to use: A reference answer exists, and its meaning matters and not its wording.

    Attributes:
        adk_compat: Ask about an empty expected answer and an empty answer too, as google-adk does; an
            unusable reply of the judge abstains, and is not asked again.
    """

    name: ClassVar[str] = "final_response_match_v2"
    needs: ClassVar[str] = "an expected response"
    severity_reason: ClassVar[CriterionSeverityReason] = "text"
    rests_on: ClassVar[RestsOn] = ("words",)
    default_samples: ClassVar[int] = 5

    async def judge(self, sample: Sample, pair: TurnPair, ask: Ask) -> Score | None:
        """Compares the answer of a recorded turn with its golden turn's; None if that expects no answer."""
        if pair.expected is None:
            return turn_mismatch(pair) if pair.label == EXTRA_TURN else None
        reference = expected_text(pair.expected, self.include_intermediate_responses_in_final)
        if not reference.strip() and not self.adk_compat:
            return None
        if pair.actual is None:
            return turn_mismatch(pair)
        answer = self.said(pair.actual)
        if not answer.strip() and not self.adk_compat:
            return Score(0.0, explanation="The agent said nothing.")
        sections = [
            Section("request", pair.expected.user or pair.actual.user or ""),
            JudgedSection("reference answer", reference),
            JudgedSection("agent's answer", answer),
        ]
        return await self.judge_validity(ask, self._prompt("final_response_match/2", sections), MatchReply)


class CoherenceReply(ReasonedReply):
    """A grade of coherence."""

    quote: str = Field(description="The words of the answer that decide.")
    reason: str = Field(description="Why, in one or two sentences.")
    grade: int = Field(ge=1, le=5)


class ResponseEvaluation(AdkJudged):
    """Coherence of the agent's answer, 1 (falls apart) to 5; of several samples the (lower) median.

    When to use: A general impression of answers without a reference.
    """

    name: ClassVar[str] = "response_evaluation_score"
    needs: ClassVar[str] = "answers of the agent"
    severity_reason: ClassVar[CriterionSeverityReason] = "text"
    rests_on: ClassVar[RestsOn] = ("words",)
    scale: ClassVar[tuple[float, float] | None] = (1.0, 5.0)

    threshold: float | None = 3.0

    async def judge(self, sample: Sample, pair: TurnPair, ask: Ask) -> Score | None:
        """Grades the answer of a recorded turn; None if the agent said nothing."""
        answer = self.said(pair.actual) if pair.actual else ""
        if pair.actual is None or not answer.strip():
            return None
        sections = [Section("request", pair.actual.user or ""), JudgedSection("answer", answer)]
        prompt = self._prompt("coherence/2", sections)
        question = Question(prompt, CoherenceReply, self.options, verdicts=lambda reply: [reply.grade])
        answers = await ask_all(ask, question)
        if not answers.replies:
            return Score(None, reason=answers.reason, judge=answers.use)
        grades = [reply.grade for reply in answers.replies]
        grade = median_low(grades)
        reply = answers.replies[grades.index(grade)]
        return reply_score(answers, reply, float(grade), None, grades=grades)
