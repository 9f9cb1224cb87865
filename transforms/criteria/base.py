"""Base classes of criteria, and the registry of all criteria."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import blake2b
from inspect import isawaitable, iscoroutine
from math import inf, isclose, isfinite, isnan
from numbers import Real
from sys import float_info
from typing import Any, ClassVar, Final, Literal, Self, TypeAlias, get_args
from unicodedata import normalize

from msgspec import Struct
from msgspec.structs import asdict, replace
from pydantic import Field, StrictBool, field_validator
from pydantic_core import from_json, to_json

from turnwise.schemas.case import EvalCase
from turnwise.schemas.config import STATUS
from turnwise.schemas.conversation import Settings, ToolCall, Turn, turn_name
from turnwise.schemas.jsonio import JsonObject, JsonValue, grouped, listed, short_repr, shown
from turnwise.schemas.registry import Registry
from turnwise.schemas.score import (
    CRITERION_SEVERITY_REASONS,
    LARGEST_VALUE,
    CriterionSeverityReason,
    JudgeUse,
    Outcome,
    Score,
)
from turnwise.transforms.effects.changes import call_text, clipped_value, told_apart, value_text
from turnwise.transforms.judging.ask import Ask, JudgeModelOptions, Prompt, Question, vote_each
from turnwise.transforms.judging.prompts import StatementReply, left_out, share, unread_reason, votes_of
from turnwise.transforms.matching.sample import MISSING_TURN, Sample, TurnPair
from turnwise.transforms.text.cleaning import quoted

Scores: TypeAlias = "Score | list[Score] | None"
"""None: not applicable. A list: several things of the same turn were measured (one score a tool call)."""

Unit = Literal["score", "seconds", "count", "money"]
Gate = Literal["at_least", "at_most"]
_TurnPart = Literal["calls", "words"]
RestsOn: TypeAlias = tuple[_TurnPart, ...]
UNITS, GATES, _PARTS = get_args(Unit), get_args(Gate), get_args(_TurnPart)
_FLAGS = ("needs_expected_calls", "turns_count", "needs_answers", "applies_always")
ATTRIBUTES = (
    *("name", "scale", "special_values", "unit", "gate", "severity_reason", "rests_on", "needs"),
    *_FLAGS,
)
"""Names of the class attributes."""


def _missing(kind: type) -> list[str]:
    missing = sorted(getattr(kind, "__abstractmethods__", ()))
    asks = (getattr(kind, "judge", None), getattr(kind, "judge_conversation", None))
    is_mute = asks == (JudgedCriterion.judge, JudgedCriterion.judge_conversation)
    return [*missing, "judge (or judge_conversation)"] if is_mute else missing


def _fault(kind: Any) -> str | None:
    """Returns what is wrong with the class attributes and methods of a criterion; None: nothing."""

    def are_numbers(values: Sequence[object]) -> bool:
        return all(isinstance(v, Real) and not isinstance(v, bool) and not isnan(v) for v in values)

    def wrong(name: str, needed: str) -> str:
        return f"its {name} is {short_repr(getattr(kind, name))}; it must be {needed}"

    if not (isinstance(kind, type) and issubclass(kind, MeasuredCriterion | JudgedCriterion)):
        return "it is no subclass of MeasuredCriterion or JudgedCriterion"
    if fields := sorted({*ATTRIBUTES} & {*kind.model_fields}):
        return f"{', '.join(fields)}: write ClassVar in the annotation, or no annotation"
    if not hasattr(kind, "name"):
        return "it has no name"
    if kind.name == STATUS:
        return f"{STATUS} stands for the verdicts, and no criterion can have this name"
    if missing := _missing(kind):
        return f"it lacks {', '.join(missing)}"
    scale = kind.scale
    is_range = isinstance(scale, tuple | list) and len(scale) == 2 and are_numbers(scale)
    if scale is not None and not (is_range and scale[0] < scale[1]):
        return wrong("scale", "two numbers, the lowest and the highest value, or None")
    if not isinstance(kind.special_values, tuple) or not are_numbers(kind.special_values):
        return wrong("special_values", "a tuple of numbers")
    for name, allowed in (("unit", UNITS), ("gate", GATES), ("severity_reason", CRITERION_SEVERITY_REASONS)):
        if not isinstance(getattr(kind, name), str) or getattr(kind, name) not in allowed:
            return wrong(name, f"one of {', '.join(allowed)}")
    if not isinstance(kind.rests_on, tuple | list) or not all(part in _PARTS for part in kind.rests_on):
        return wrong("rests_on", f"a tuple of {', '.join(_PARTS)}")
    if not isinstance(kind.needs, str):
        return wrong("needs", "a text")
    flag = next((name for name in _FLAGS if not isinstance(getattr(kind, name), bool)), None)
    return wrong(flag, "True or False") if flag else None


def _is_left_out(kind: object) -> bool:
    """Returns whether it is a criterion, complete, and no base class of another one."""
    if not (isinstance(kind, type) and issubclass(kind, MeasuredCriterion | JudgedCriterion)):
        return False
    return not _missing(kind) and not kind.__subclasses__()


CRITERIA: Registry[type["Criterion"]] = Registry(
    "criterion", "turnwise.criteria", "turnwise.transforms.criteria", _fault, _is_left_out
)
"""Name -> criterion; a class enters itself when its module is imported."""


class Criterion(Settings, ABC):
    """A named measure. Its fields are its parameters in the config.

    Attributes:
        name: Name in the config and in rows.
        scale: Lowest and highest possible value; None: open-ended.
        special_values: Values outside the scale that a score may have nevertheless (CES's -1: no claim).
        unit: Unit of a value.
        gate: `at_least`: PASS from the threshold upwards; `at_most`: PASS up to the threshold.
        severity_reason: What a failed score means, which decides how early the conversation should be read:
            `safety`, `false_claims`, `missing_writes`, `unsupported`, `expectations`, `text` or `other`.
        rests_on: Parts of a turn that must be complete in the log, else it has no score: calls (with results
            and hand-offs), the agent's words.
        needs_expected_calls: Whether it compares calls with expected ones; no score if an expectation could
            not be read.
        turns_count: Whether a conversation with a score of the whole passes only if the summary of its turns
            passes too.
        needs: What a log or a case must hold, else there is nothing to measure; one phrase for
            `turnwise inspect`; "": not stated.
        needs_answers: Whether a conversation with a failed or unfinished answer gets no score of the whole.
        applies_always: Whether every conversation has something to measure, so that one without a score was
            not measured: its log lacks what is measured. With a threshold it has no score, and the
            conversation no verdict.
        threshold: Threshold on the scale; None: the criterion never fails.
    """

    name: ClassVar[str]
    scale: ClassVar[tuple[float, float] | None] = (0.0, 1.0)
    special_values: ClassVar[tuple[float, ...]] = ()
    unit: ClassVar[Unit] = "score"
    gate: ClassVar[Gate] = "at_least"
    severity_reason: ClassVar[CriterionSeverityReason] = "expectations"
    rests_on: ClassVar[RestsOn] = ("calls", "words")
    needs: ClassVar[str] = ""
    needs_expected_calls: ClassVar[bool] = False
    turns_count: ClassVar[bool] = False
    needs_answers: ClassVar[bool] = True
    applies_always: ClassVar[bool] = False
    _is_built_in: ClassVar[bool] = False
    _is_judged: ClassVar[bool] = False  # pydantic's isinstance costs more than to add up a score

    threshold: float | None = Field(default=None)

    @field_validator("threshold", mode="before")
    @classmethod
    def _on_the_scale(cls, value: JsonValue) -> JsonValue:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= float_info.max:
            raise ValueError(f"must be a finite number, not {shown(value)}")
        low, high = cls.scale or (0.0, inf)
        if not low <= value <= high:
            bounds = f"from {low:g} to {high:g}" if cls.scale else f"at least {low:g}"
            raise ValueError(f"{shown(value)} can never be a value of {cls.name}; those are {bounds}")
        return value

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: object) -> None:
        """Enters a class with a name of its own in `CRITERIA`; raises TypeError as `Registry.add` does."""
        cls._is_built_in = cls.__module__.startswith("turnwise.transforms.criteria.")
        if "name" in cls.__dict__:
            CRITERIA.add(cls)

    @property
    def as_adk(self) -> bool:
        """Whether it gives google-adk's value wherever google-adk has one (`adk_compat`)."""
        return bool(getattr(self, "adk_compat", False))

    @property
    def lacks_rubrics(self) -> bool:
        """Whether it scores by rubrics, and has none of its own."""
        return False

    @cached_property
    def digest(self) -> str:
        """Digest of the name and the parameters, 8 hexadecimal digits."""
        fields = f"{self.name}\0{self.model_dump_json()}"
        return blake2b(fields.encode("utf-8", "replace"), digest_size=4).hexdigest()

    def _with(self, **fields: object) -> Self:
        copy = self.model_copy(update=fields)
        copy.__dict__.pop("digest", None)
        return copy

    def overall(self, turns: Sequence[Score]) -> Score | None:
        """Sums up the turns of one conversation; None if no turn was scored at all.

        The mean over the scored turns, made as google-adk makes it. While a turn has no score, a mean that
        passes has no outcome; it fails with a turn that fails without a value.
        """
        if not turns:
            return None
        values = [score.value for score in turns if score.value is not None]
        overall = self.gated(Score(self.mean(values))) if values else Score(None)
        if len(values) < len(turns):
            missing = [score for score in turns if score.value is None]
            first = next((score for score in missing if score.outcome == "FAIL"), missing[0])
            head = f"{len(missing)} of {len(turns)} turns without a score: " if values else ""
            overall.reason = head + (first.reason or "")
            overall.outcome = "FAIL" if "FAIL" in (first.outcome, overall.outcome) else None
        return overall

    def mean(self, values: Sequence[float]) -> float:
        """Returns the mean of a conversation's values, added from left to right."""
        total = 0.0
        for value in values:
            total += value  # `sum` rounds in another way since Python 3.12
        return total / len(values)

    def counts(self, score: Score) -> bool:
        """Returns whether a score enters means; a value below the scale (CES's -1: no claim) does not."""
        return score.value is None or self.scale is None or score.value >= self.scale[0]

    def gated(self, score: Score) -> Score:
        """Sets the outcome of a score that has none yet, by its own threshold or else the criterion's.

        A value that is not finite, or of which no figure can be computed (a broken clock or counter in the
        log), leaves the score without a value.
        """
        value, threshold = score.value, self.threshold
        if value is None:
            return score
        if not abs(value) <= LARGEST_VALUE:
            beyond = f", beyond {LARGEST_VALUE:g}" if isfinite(value) else ""
            score.value, score.outcome, score.reason = None, None, f"the value is {value}{beyond}"
        elif threshold is not None and score.outcome is None:
            limit = score.threshold = threshold if score.threshold is None else score.threshold
            passed = value >= limit if self.gate == "at_least" else value <= limit
            score.outcome = "PASS" if passed else "FAIL"
        return score

    def reaches(self, score: Score) -> bool:
        """Returns whether a value passes by its threshold, whatever its outcome; True: there is none."""
        threshold = self.threshold if score.threshold is None else score.threshold
        if score.value is None or threshold is None:
            return True
        return score.value >= threshold if self.gate == "at_least" else score.value <= threshold

    def why_failed(self, sample: Sample, pair: TurnPair | None, score: Score) -> str:
        """Returns one sentence on why a score fails; used for scores without an explanation.

        Args:
            sample: The scored sample.
            pair: The turn; None: the conversation as a whole.
            score: The score; its outcome is FAIL.
        """
        below = "below" if self.gate == "at_least" else "above"
        unit = " s" if self.unit == "seconds" else ""
        label = f"{score.label}: " if score.label else ""
        if score.value is None:
            return f"{label}{score.reason}"
        threshold = self.threshold if score.threshold is None else score.threshold
        value = f"{score.value:.6g}"
        if threshold is None:
            return f"{label}{value}{unit} is {below} its bound."
        if self.reaches(score):
            why = f": {score.reason}" if score.reason else ""
            return f"{label}{value}{unit} reaches the threshold {threshold:g}{unit}, but it fails{why}."
        value = repr(score.value) if value == f"{threshold:g}" else value
        return f"{label}{value}{unit} is {below} the threshold {threshold:g}{unit}."


class MeasuredCriterion(Criterion):
    """A measure that is computed.

    >>> import turnwise
    >>> class ShortAnswer(turnwise.MeasuredCriterion):
    ...     name = "short_answer"
    ...     def score(self, sample, pair):
    ...         if pair.actual is None or pair.actual.agent is None:
    ...             return None
    ...         return turnwise.Score(float(len(pair.actual.agent) < 80))
    >>> log = {"conversation_id": "c1", "turns": [{"user": "Hi", "agent": "Hello"}]}
    >>> turnwise.evaluate(log, criteria={"short_answer": 1.0}).passed
    True
    """

    @abstractmethod
    def score(self, sample: Sample, pair: TurnPair) -> Scores:
        """Scores one turn; None if there is nothing to measure in it."""

    def score_conversation(self, sample: Sample) -> Score | None:
        """Scores the conversation as a whole, where the case states something about the whole."""
        return None

    def with_actions(self, case: EvalCase) -> Self:
        """Returns the criterion as it applies where a case states the calls of the whole conversation."""
        return self

    def not_logged(self, turn: Turn | None) -> Score | None:
        """Returns the score of a turn whose figure is not in the log.

        A gate leaves a turn in which the agent answered the user, or a search engine did, without a score.
        Without a threshold, and for other turns, there is nothing to measure.
        """
        if self.threshold is None or not is_answered(turn):
            return None
        return Score(None, reason=f"not in the log (needs {self.needs})")


def is_answered(turn: Turn | None) -> bool:
    """Returns whether the agent, or a search engine, answered the user in a turn."""
    if turn is None or not (turn.agent or turn.tool_calls):
        return False
    return bool(turn.user) or turn.grounded is not None


class ComparesTurns(MeasuredCriterion):
    """A measure that holds recorded turns against those of a golden case, one by one.

    Attributes:
        informs_with_actions: Whether it has no threshold in a conversation whose case states the calls of the
            whole conversation (`actions`) and not those of its turns. Such a case leaves the way open:
            order and wording do not decide.
    """

    informs_with_actions: StrictBool = False

    def with_actions(self, case: EvalCase) -> Self:
        """Returns the criterion, without its threshold where it only informs."""
        states_turns = any(turn.tool_calls is not None for turn in case.turns)
        return self._informing if self.informs_with_actions and not states_turns else self

    @cached_property
    def _informing(self) -> Self:
        return self._with(threshold=None)


class JudgedCriterion(Criterion):
    """A measure that a judge is asked for.

    Attributes:
        judge_model_options: Which model is asked, and how often.
        sample_rate: Share of the conversations that are judged, 0..1, the same ones in every run.

    >>> import turnwise
    >>> class Asked(turnwise.JudgedCriterion):
    ...     name = "asked"
    ...     async def judge(self, sample, pair, ask):
    ...         return turnwise.Score(1.0)
    >>> log = {"conversation_id": "c1", "turns": [{"user": "Hi", "agent": "Hello"}]}
    >>> turnwise.evaluate(log, criteria={"asked": 1.0}, judge="local").passed
    True
    """

    _is_judged: ClassVar[bool] = True
    default_samples: ClassVar[int] = 1
    """Default number of samples."""

    judge_model_options: JudgeModelOptions = JudgeModelOptions()
    sample_rate: float = Field(default=1.0, ge=0.0, le=1.0, strict=True)

    def asking(self, options: JudgeModelOptions) -> Self:
        """Returns the same criterion, asking by other options."""
        return self._with(judge_model_options=options)

    async def _judge_items(
        self,
        ask: Ask,
        prompt: Prompt,
        name: str,
        items: Sequence[JsonObject],
        local: Callable[[], StatementReply] | None = None,
    ) -> Score:
        """Asks about numbered items at once; returns the share of yes among them, which are its details.

        Every item gets a score (1.0 yes, 0.0 no, None: not judged), reason, quote and votes, but for those
        that have a score already; one that is listed twice is asked about once. Unlike that of `share`, the
        value is None while an item is not judged. The first negative item, or else the first, explains it.
        """
        asked = list({id(item): item for item in items if "score" not in item}.values())
        count = len(asked)

        def votes(reply: StatementReply) -> list[bool | None]:
            return votes_of(((verdict.number, verdict.verdict == "yes") for verdict in reply.verdicts), count)

        vote = await vote_each(ask, Question(prompt, StatementReply, self.options, local), votes, count)
        for number, (item, ballot) in enumerate(zip(asked, vote.ballots, strict=True), 1):
            verdicts = ballot.reply.verdicts if ballot.reply else ()
            verdict = next((v for v in verdicts if v.number == number), None)
            value, reason = ballot.value, verdict.reason if verdict else None
            if prompt.unread and value:
                value, reason = None, unread_reason(prompt.unread)
            item |= {"score": value, "reason": reason}
            item |= quoted(verdict.quote if verdict else "", prompt.evidence)
            item["votes"] = [ballot.positives, ballot.negatives]
        unasked = (item["reason"] for item in items if item["score"] is None and item["reason"])
        scores = [item["score"] for item in items]
        score = share(scores, next(unasked, vote.answers.reason), self.threshold)
        score.value = None if score.reason else score.value
        judged = [item for item in items if item["score"] is not None]
        decisive = [*(item for item in judged if not item["score"]), *judged]
        score.judge, score.explanation = vote.answers.use, decisive[0]["reason"] if decisive else None
        score.details = {name: list(items), **left_out(prompt)}
        return score

    @property
    def options(self) -> JudgeModelOptions:
        """The judge's options, with the criterion's own number of samples where none is set."""
        options = self.judge_model_options
        if "num_samples" in options.model_fields_set:
            return options
        return options.model_copy(update={"num_samples": self.default_samples})

    async def judge(self, sample: Sample, pair: TurnPair, ask: Ask) -> Score | None:
        """Scores one turn; None if there is nothing to judge in it."""
        return None

    async def judge_conversation(self, sample: Sample, ask: Ask) -> Score | None:
        """Scores the conversation as a whole; None if there is nothing to judge in it."""
        return None


QUANTILE_UNITS = ("seconds", "money")
"""Units of which metrics hold quantiles."""


def turn_mismatch(pair: TurnPair) -> Score | None:
    """Returns the score of a missing or extra turn, 0.0; None if the turn has both sides."""
    return None if pair.label is None else Score(0.0, label=pair.label)


# Checks what the methods of criteria return, and decides it by the thresholds.

NO_REASON = "the criterion gave no value and no reason"
_OUTCOMES = (None, *get_args(Outcome))
_PARTS_OF_SCORE: Final = (
    *((name, str, "a text") for name in ("reason", "label", "explanation")),
    ("threshold", Real, "a finite number"),
    ("judge", JudgeUse, "the `use` of the judge's answers"),
)
_ROUNDING = 1e-9
_SHOWN = 40


def listed_scores(returned: object) -> Sequence[Score]:
    """Returns the scores of a list that a criterion returned; raises what it raised instead, or TypeError."""
    if isinstance(returned, BaseException):
        raise returned
    if not isinstance(returned, list | tuple):
        raise _wrong("score", returned, "a Score, a list of Scores, or None")
    for score in returned:
        if not isinstance(score, Score):
            raise _wrong("score", score, "a list of Scores", "a list with ")
    return returned


def overall_score(criterion: Criterion, sample: Sample, turns: Sequence[tuple[int, Score]]) -> Score | None:
    """Returns the summary of the turns (index, score); raises TypeError, or what `check_score` raises."""
    overall = criterion.overall([score for _, score in turns])
    if not criterion._is_built_in:
        overall = one_score("overall", overall)
    if overall is None:
        return None
    check_score(criterion, overall)
    if overall.explanation is None and overall.outcome is not None:
        if overall.outcome == "FAIL":
            overall.explanation = why_overall(turns) or criterion.why_failed(sample, None, overall)
        else:
            _explain_pass(criterion, overall)
    return overall


def decide_score(criterion: Criterion, sample: Sample, pair: TurnPair | None, score: Score) -> None:
    """Decides a score that `check_score` takes; one that fails says why, and what is wrong with its turn."""
    stated = score.outcome
    check_score(criterion, score)
    criterion.gated(score)
    if score.outcome == "FAIL":
        if pair is not None and pair.label:
            score.explanation = " ".join(filter(None, (why_unpaired(pair), score.explanation)))
        elif score.explanation is None:
            score.explanation = criterion.why_failed(sample, pair, score)
    elif stated == "PASS" and score.explanation is None:
        _explain_pass(criterion, score)


def _explain_pass(criterion: Criterion, score: Score) -> None:
    """Says of a score without a word that it passes although its value does not."""
    if score.outcome == "PASS" and not criterion.reaches(score):
        threshold = criterion.threshold if score.threshold is None else score.threshold
        score.explanation = f"It passes, although {score.value:g} does not reach the threshold {threshold:g}."


def one_score(method: str, returned: object) -> Score | None:
    """Copies what a method returned; raises what it raised, or TypeError if it is neither Score nor None."""
    if returned is None or isinstance(returned, Score):
        return returned and replace(returned)
    if isinstance(returned, BaseException):
        raise returned
    raise _wrong(method, returned, "a Score or None")


async def awaited_score(method: str, returned: object) -> Score | None:
    """Awaits what a method returned; raises TypeError if it is no coroutine, or its result is no score."""
    if not isawaitable(returned):
        raise _wrong(method, returned, f"a coroutine (`async def {method}`)")
    return one_score(method, await returned)


def check_score(criterion: Criterion, score: Score) -> None:
    """Makes the value of a score a plain float, and gives a score without a value a reason.

    A value that is not finite is left as it is. The details of a plugin's score become plain JSON values.
    Raises TypeError for a value that is no number, details that JSON cannot hold, or a text that is none;
    ValueError for a value outside the criterion's scale, or an impossible outcome.
    """
    value: Any = score.value
    scale, is_built_in = criterion.scale, criterion._is_built_in
    if is_built_in and value.__class__ is float and (scale is None or scale[0] <= value <= scale[1]):
        return
    if not is_built_in:
        score.details = None if score.details is None else _json_object(score.details)
        for name, kind, needed in _PARTS_OF_SCORE:
            part: Any = getattr(score, name)
            is_wrong = not isinstance(part, kind) or isinstance(part, bool)
            if part is not None and (is_wrong or (kind is Real and not isfinite(part))):
                raise TypeError(f"the {name} is {_kind_of(part)}; it must be {needed} or None")
            if isinstance(part, str):  # half a character, which no file can hold, is marked
                part = part.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            setattr(score, name, float(part) if isinstance(part, Real) else part)
    if score.outcome not in _OUTCOMES:
        outcome = short_repr(score.outcome, _SHOWN)
        raise ValueError(f"the outcome is {outcome}; it must be PASS, FAIL, SKIPPED or None")
    if value is None:
        if score.outcome == "PASS":
            raise ValueError("the outcome is PASS, but there is no value")
        score.reason = score.reason or NO_REASON
        return
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"the value is {_kind_of(value)}; it must be a number or None")
    score.value = number = float(value)
    if scale is not None and not scale[0] <= number <= scale[1]:
        near = any(isclose(number, end, rel_tol=_ROUNDING, abs_tol=_ROUNDING) for end in scale)
        if isfinite(number) and not near and number not in criterion.special_values:
            low, high = scale
            raise ValueError(f"the value {number:g} is outside the criterion's scale, {low:g} to {high:g}")


def _json_object(details: object) -> JsonObject:
    """Returns details with numpy's scalars and arrays as numbers and lists, and records as objects."""

    def builtin(value: object) -> object:
        if isinstance(value, Struct):
            return asdict(value)
        plain = value.tolist() if hasattr(value, "tolist") else value
        if type(plain) is type(value):
            raise TypeError(_kind_of(value))
        return plain

    try:
        plain = from_json(to_json(details, inf_nan_mode="null", fallback=builtin))
    except (ValueError, RecursionError) as error:
        raise TypeError(f"the details cannot be written as JSON: {error}") from None
    if isinstance(plain, dict):
        return plain
    raise TypeError(f"the details are {_kind_of(details)}; needed is a dict")


def _kind_of(value: object) -> str:
    return f"{short_repr(value, _SHOWN)}, a {type(value).__name__}"


def _wrong(method: str, returned: object, needed: str, before: str = "") -> TypeError:
    if iscoroutine(returned):
        returned.close()
        needed = f"{needed} (`def`, not `async def`)"
        return TypeError(f"{method} returned {before}a coroutine; needed is {needed}")
    return TypeError(f"{method} returned {before}{_kind_of(returned)}; needed is {needed}")


class CustomMetric(MeasuredCriterion):
    """No score in any conversation, because its function requires google-adk's classes and is not run.

    Attributes:
        name: Name in the config.
        function: Full name of the function.
    """

    scale = (-inf, inf)

    name: str  # type: ignore[misc]  # each metric of a config has its own
    function: str

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        return None

    def score_conversation(self, sample: Sample) -> Score:
        return Score(None, reason=f"a custom metric: its function {self.function} is not run")


# Explains failed scores for reviewers.

_MOST_CALLS = 5
_MOST_MOVED = 3
_CALL_FORMS: tuple[Callable[[ToolCall], str], ...] = (
    lambda call: value_text(call_text(call)),
    lambda call: clipped_value(f"{call.name}({json.dumps(call.args, ensure_ascii=False, default=repr)})"),
    lambda call: clipped_value(f"{call.name}({json.dumps(call.args, default=repr)})"),
)
"""The texts of a call; each next one tells more calls apart."""


def calls_text(calls: Sequence[ToolCall], texts: Sequence[str] | None = None) -> str:
    """Returns the first five calls with their arguments, truncated; `texts`: these calls, written."""
    if texts is None:
        texts = [value_text(call_text(call)) for call in calls[:_MOST_CALLS]]
    return listed(texts, _MOST_CALLS, len(calls), "; ") or "none"


def calls_apart(first: Sequence[ToolCall], second: Sequence[ToolCall]) -> tuple[str, str]:
    """Returns the texts of two lists of calls; arguments are JSON where two calls would look alike."""
    for form in _CALL_FORMS:
        texts = [form(call) for call in first[:_MOST_CALLS]]
        others = [form(call) for call in second[:_MOST_CALLS]]
        looks = {text if text.isascii() else normalize("NFKC", text) for text in texts}
        if looks.isdisjoint([text if text.isascii() else normalize("NFKC", text) for text in others]):
            return calls_text(first, texts), calls_text(second, others)
        if len(first) == len(second) == 1 and first[0].args != second[0].args:
            left, other = told_apart(first[0].args, second[0].args)
            return f"{first[0].name}({left})", f"{second[0].name}({other})"
    return calls_text(first), calls_text(second)


def words_text(text: str | None) -> str:
    """Returns a text in quotation marks, truncated."""
    return f"“{value_text(text)}”" if text and text.strip() else "nothing"


def why_unpaired(pair: TurnPair) -> str:
    """Returns the content of a missing or an extra turn."""
    if pair.label == MISSING_TURN and pair.expected is not None:
        want = pair.expected
        texts, calls = {"user": want.user, "agent": want.response}, want.tool_calls or []
        head = f"{turn_name(pair.index).capitalize()} is missing. Expected"
    else:
        turn = pair.actual or Turn()
        texts, calls = {"user": turn.user, "agent": turn.agent}, turn.tool_calls
        head = f"{turn_name(pair.index).capitalize()} was not expected. It holds"
    parts = [f"{who} {words_text(text)}" for who, text in texts.items() if text and text.strip()]
    parts += [f"calls {calls_text(calls)}"] if calls else []
    return f"{head}: {', '.join(parts) or 'nothing'}."


def why_overall(turns: Sequence[tuple[int, Score]]) -> str | None:
    """Returns the number of failed turns, the moved calls and the first reason; None: no turn failed."""
    failed = [(index, score) for index, score in turns if score.outcome == "FAIL"]
    if not failed:
        return None
    calls: dict[str, list[tuple[int, str]]] = {"missing": [], "extra": []}
    for turn, score in turns:
        for kind, entries in calls.items() if score.details else ():
            texts: JsonValue = (score.details or {}).get(kind)
            if texts and isinstance(texts, list):
                entries += [(turn, text) for text in texts if isinstance(text, str) and "(" in text]
    made = grouped((call, turn) for turn, call in calls["extra"])
    moved = [
        f"{call} is expected in {turn_name(turn)} and made in {turn_name(made[call].pop(0))}."
        for turn, call in calls["missing"]
        if made.get(call)
    ]
    index, first = failed[0]
    why, head = first.explanation or "", turn_name(index).capitalize()
    parts = [f"{len(failed)} of {len(turns)} fail.", *moved[:_MOST_MOVED]]
    return " ".join([*parts, why if why.startswith(head) else f"{head}: {why}"])
