"""Base classes of criteria, and the registry of all criteria."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b
from math import inf, isfinite
from typing import ClassVar, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, StrictBool, field_validator

from turnwise.schemas.config import PromptGeneration
from turnwise.schemas.jsonio import JsonValue
from turnwise.schemas.registry import Registry
from turnwise.schemas.score import CriterionHarm, Score
from turnwise.transforms.criteria.attributes import ATTRIBUTES, attribute_fault
from turnwise.transforms.judging.ask import Ask, JudgeModelOptions, Prompt
from turnwise.transforms.judging.prompts.sections import Section, fill_task
from turnwise.transforms.matching.sample import Sample, TurnPair

Scores: TypeAlias = "Score | list[Score] | None"
"""None: not applicable. A list: several things of the same turn were measured (one score a tool call)."""

RestsOn: TypeAlias = tuple[Literal["calls", "words"], ...]


def _missing(kind: type) -> list[str]:
    missing = sorted(getattr(kind, "__abstractmethods__", ()))
    asks = (getattr(kind, "judge", None), getattr(kind, "judge_conversation", None))
    if asks == (JudgedCriterion.judge, JudgedCriterion.judge_conversation):
        missing.append("judge (or judge_conversation)")
    return missing


def _fault(kind: object) -> str | None:
    if not (isinstance(kind, type) and issubclass(kind, MeasuredCriterion | JudgedCriterion)):
        return "it is no subclass of MeasuredCriterion or JudgedCriterion"
    fields = sorted({*ATTRIBUTES} & {*kind.model_fields})
    if fields:
        return f"{', '.join(fields)}: write ClassVar in the annotation, or no annotation"
    if not hasattr(kind, "name"):
        return "it has no name"
    missing = _missing(kind)
    return f"it lacks {', '.join(missing)}" if missing else attribute_fault(kind)


def _is_left_out(kind: object) -> bool:
    """Returns whether it is a criterion, complete, and no base class of another one."""
    if not (isinstance(kind, type) and issubclass(kind, MeasuredCriterion | JudgedCriterion)):
        return False
    return not _missing(kind) and not kind.__subclasses__()


CRITERIA: Registry[type["Criterion"]] = Registry(
    "criterion", "turnwise.criteria", "turnwise.transforms.criteria", _fault, _is_left_out
)
"""Name -> criterion; a class enters itself when its module is imported."""


class Criterion(BaseModel, ABC):
    """A named measure. Its fields are its parameters in the config.

    Attributes:
        name: Name in the config and in rows.
        scale: Lowest and highest possible value; None: open-ended.
        special_values: Values outside the scale that a score may have nevertheless (CES's -1: no claim).
        unit: Unit of a value.
        gate: `at_least`: PASS from the threshold upwards; `at_most`: PASS up to the threshold.
        harm: What a failed score means, which decides how early the conversation should be read: `safety`,
            `false_claims`, `missing_writes`, `unsupported`, `expectations`, `text` or `other`.
        rests_on: Parts of a turn that must be complete in the log, else it is unscored: calls (with results
            and hand-offs), the agent's words.
        needs_expected_calls: Whether it compares calls with expected ones; unscored if an expectation could
            not be read.
        turns_count: Whether a conversation with a score of the whole passes only if the summary of its turns
            passes too.
        needs: What a log or a case must hold, else there is nothing to measure; one phrase for
            `turnwise inspect`; "": not stated.
        needs_answers: Whether a conversation with a failed or unfinished answer gets no score of the whole.
        applies_always: Whether every conversation has something to measure, so that one without a score was
            not measured: its log lacks what is measured. With a threshold it is unscored, and undecided.
        threshold: Threshold on the scale; None: the criterion never fails.
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, allow_inf_nan=False)

    name: ClassVar[str]
    scale: ClassVar[tuple[float, float] | None] = (0.0, 1.0)
    special_values: ClassVar[tuple[float, ...]] = ()
    unit: ClassVar[Literal["score", "seconds", "count"]] = "score"
    gate: ClassVar[Literal["at_least", "at_most"]] = "at_least"
    harm: ClassVar[CriterionHarm] = "expectations"
    rests_on: ClassVar[RestsOn] = ("calls", "words")
    needs: ClassVar[str] = ""
    needs_expected_calls: ClassVar[bool] = False
    turns_count: ClassVar[bool] = False
    needs_answers: ClassVar[bool] = True
    applies_always: ClassVar[bool] = False

    threshold: float | None = Field(default=None)

    @field_validator("threshold", mode="before")
    @classmethod
    def _on_the_scale(cls, value: JsonValue) -> JsonValue:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise ValueError(f"must be a finite number, not {value!r}")
        low, high = cls.scale or (0.0, inf)
        if not low <= value <= high:
            bounds = f"from {low:g} to {high:g}" if cls.scale else f"at least {low:g}"
            raise ValueError(f"{value!r} can never be a value of {cls.name}; those are {bounds}")
        return value

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: object) -> None:
        """Enters a class with a name of its own in `CRITERIA`; raises TypeError as `Registry.add` does."""
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
        try:
            fields = self.model_dump_json()
        except ValueError:  # a field of an addition that has no JSON
            fields = repr(self)
        return blake2b(f"{self.name}\0{fields}".encode("utf-8", "replace"), digest_size=4).hexdigest()

    def overall(self, turns: Sequence[Score]) -> Score | None:
        """Sums up the turns of one conversation; None if no turn was scored at all.

        The mean over the scored turns, made as google-adk makes it. While a turn is
        unscored, a mean that passes is no verdict.
        """
        if not turns:
            return None
        values = [score.value for score in turns if score.value is not None]
        if not values:
            return Score(None, reason=turns[0].reason)
        overall = self.gated(Score(self.mean(values)))
        if len(values) < len(turns):
            overall.reason = f"{len(turns) - len(values)} of {len(turns)} turns unscored: " + next(
                s.reason or "" for s in turns if s.value is None
            )
            overall.outcome = "FAIL" if overall.outcome == "FAIL" else None
        return overall

    def mean(self, values: Sequence[float]) -> float:
        """Returns the mean of a conversation's values, added from left to right."""
        total = 0.0
        for value in values:
            total += value
        return total / len(values)

    def counts(self, score: Score) -> bool:
        """Returns whether a score enters means; a value below the scale (CES's -1: no claim) does not."""
        return score.value is None or self.scale is None or score.value >= self.scale[0]

    def gated(self, score: Score) -> Score:
        """Sets the outcome of a score that has none yet, by the criterion's threshold.

        A value that is not finite (a broken clock in the log) leaves the score unscored.
        """
        value, threshold = score.value, self.threshold
        if value is None:
            return score
        if not isfinite(value):
            score.value, score.outcome, score.reason = None, None, f"the value is {value}"
        elif threshold is not None and score.outcome is None:
            score.threshold = threshold
            passed = value >= threshold if self.gate == "at_least" else value <= threshold
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
        what = f"{score.label}: " if score.label else ""
        if score.value is None:
            return f"{what}{score.reason}"
        threshold = self.threshold if score.threshold is None else score.threshold
        value = f"{score.value:.6g}"
        if threshold is None:
            return f"{what}{value}{unit} is {below} its bound."
        if self.reaches(score):
            why = f": {score.reason}" if score.reason else ""
            return f"{what}{value}{unit} reaches the threshold {threshold:g}{unit}, but it fails{why}."
        value = repr(score.value) if value == f"{threshold:g}" else value
        return f"{what}{value}{unit} is {below} the threshold {threshold:g}{unit}."


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

    def applied_to(self, sample: Sample) -> Self:
        """Returns the criterion as it applies to a conversation."""
        return self

    def not_logged(self, pair: TurnPair) -> Score | None:
        """Returns the score of a turn whose figure is not in the log.

        A gate leaves a turn in which the agent answered the user, or a search engine did, unscored. Without a
        threshold, and for other turns, there is nothing to measure.
        """
        turn = pair.actual
        if self.threshold is None or turn is None or not (turn.agent or turn.tool_calls):
            return None
        if not turn.user and turn.grounded is None:
            return None
        return Score(None, reason=f"not in the log (needs {self.needs})")


class ComparesTurns(MeasuredCriterion):
    """A measure that holds recorded turns against those of a golden case, one by one.

    Attributes:
        informs_with_actions: Whether it has no threshold in a conversation whose case states the calls of the
            whole conversation (`actions`) and not those of its turns. Such a case leaves the way open:
            order and wording do not decide.
    """

    informs_with_actions: StrictBool = False

    def applied_to(self, sample: Sample) -> Self:
        """Returns the criterion, without its threshold where it only informs."""
        case = sample.eval_case
        if not self.informs_with_actions or case is None or case.actions is None:
            return self
        return self if any(turn.tool_calls is not None for turn in case.turns) else self._informing

    @cached_property
    def _informing(self) -> Self:
        copy = self.model_copy(update={"threshold": None})
        copy.__dict__.pop("digest", None)
        return copy


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

    default_samples: ClassVar[int] = 1
    """Default number of samples."""

    judge_model_options: JudgeModelOptions = JudgeModelOptions()
    sample_rate: float = Field(default=1.0, ge=0.0, le=1.0, strict=True)
    _generation: PromptGeneration = PrivateAttr("second")

    def with_prompts(self, prompts: PromptGeneration) -> Self:
        """Returns the same criterion, asking by these prompts of turnwise."""
        if prompts == self._generation:
            return self
        copy = self.model_copy()
        copy._generation = prompts
        return copy

    def asking(self, options: JudgeModelOptions) -> Self:
        """Returns the same criterion, asking by other options."""
        copy = self.model_copy(update={"judge_model_options": options})
        copy.__dict__.pop("digest", None)
        return copy

    def _prompt(self, version: str, sections: Sequence[Section], words: str = "") -> Prompt:
        """Returns a prompt of turnwise's own; see `fill_task`."""
        return fill_task(version, self._generation, sections, words)

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


def turn_mismatch(pair: TurnPair) -> Score | None:
    """Returns the score of a missing or extra turn, 0.0; None if the turn has both sides."""
    return None if pair.label is None else Score(0.0, label=pair.label)
