"""Selects the criteria of a conversation, and samples the judged ones."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple, TypeVar

from msgspec import Struct, field

from turnwise.schemas.config import STATUS, JudgeConfig
from turnwise.transforms.criteria.base import Criterion, JudgedCriterion, MeasuredCriterion
from turnwise.transforms.criteria.calls.base import LeavesOpen
from turnwise.transforms.criteria.ces.semantic_match import SemanticMatch
from turnwise.transforms.matching.sample import Sample

J = TypeVar("J", bound=JudgedCriterion)


class Judged(NamedTuple):
    """The judged criteria of one conversation.

    Attributes:
        asked: Those a judge is asked about.
        sampled_out: Names of those that sampling leaves out, and `evaluation_status` if one of them takes
            part in the verdict.
    """

    asked: tuple[JudgedCriterion, ...]
    sampled_out: tuple[str, ...]


class Selection(Struct, frozen=True):
    """The criteria of a run.

    Attributes:
        measured: Those that are computed.
        judged: Those that a judge is asked about, of every conversation.
        by_dialect: Dialect -> those that a judge is asked about, of conversations that are held against a
            case of that dialect.
        sample_rate: Share of conversations that are judged, 0..1, where a criterion names none of its own.
        comparer: Who is asked about values that measured criteria leave open; None: nobody.
        deciding: Dialect -> names of the judged criteria that take part in its verdict; in others, those with
            a threshold do.
    """

    measured: tuple[MeasuredCriterion, ...]
    judged: tuple[JudgedCriterion, ...] = ()
    by_dialect: Mapping[str, tuple[JudgedCriterion, ...]] = field(default_factory=dict)
    sample_rate: float = 1.0
    comparer: SemanticMatch | None = None
    deciding: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def needs_judge(self) -> bool:
        """Whether a judge may be asked at all."""
        return bool(self.judged or self.of_dialects or self.comparer)

    @property
    def of_dialects(self) -> tuple[JudgedCriterion, ...]:
        """The judged criteria of all dialects."""
        return tuple(criterion for each in self.by_dialect.values() for criterion in each)

    def of(self, sample: Sample) -> Judged:
        """Returns the judged criteria of a conversation, by a hash of its case's id or else its own."""
        case = sample.eval_case
        candidates = self.judged + (self.by_dialect.get(case.dialect, ()) if case is not None else ())
        if not candidates:
            return _NOTHING
        place = hash_place((case.eval_id if case else None) or sample.conversation.conversation_id)
        asked = tuple(criterion for criterion in candidates if place < self._rate(criterion))
        if len(asked) == len(candidates):
            return Judged(asked, ())
        left = [criterion for criterion in candidates if place >= self._rate(criterion)]
        names = self.deciding.get(case.dialect) if case else None
        decides = any(c.threshold is not None if names is None else c.name in names for c in left)
        return Judged(asked, (*(c.name for c in left), *((STATUS,) if decides else ())))

    def comparer_of(self, sample: Sample) -> SemanticMatch | None:
        """Returns who is asked about what a conversation leaves open; None: sampling leaves it out."""
        case = sample.eval_case
        place = hash_place((case.eval_id if case else None) or sample.conversation.conversation_id)
        return self.comparer if self.comparer and place < self._rate(self.comparer) else None

    def _rate(self, criterion: JudgedCriterion) -> float:
        is_own = "sample_rate" in criterion.model_fields_set
        return criterion.sample_rate if is_own else self.sample_rate


_NOTHING = Judged((), ())


def select(
    criteria: Sequence[Criterion],
    sample_rate: float = 1.0,
    by_dialect: Mapping[str, Sequence[JudgedCriterion]] | None = None,
    judge: JudgeConfig | None = None,
    asks_models: bool = True,
    has_judge: bool = True,
) -> Selection:
    """Sorts the criteria of a config.

    Args:
        criteria: Those of the config.
        sample_rate: Share of conversations that are judged, 0..1.
        by_dialect: Dialect -> the criteria that its cases are always judged by. One of the same name in the
            config takes the place of the default.
        judge: The run's prompts, panel and cascade; None: the defaults.
        asks_models: Whether the judge asks models; False: there are no panels and cascades.
        has_judge: Whether there is a judge that may be asked about what measured criteria leave open: one
            that is named, or that judged criteria ask.
    """
    judge = judge or JudgeConfig()
    names = {criterion.name for criterion in criteria}
    comparer = next((c for c in criteria if isinstance(c, SemanticMatch)), SemanticMatch())
    leaves_open = has_judge and any(isinstance(criterion, LeavesOpen) for criterion in criteria)
    return Selection(
        measured=tuple(c for c in criteria if isinstance(c, MeasuredCriterion)),
        judged=tuple(_asking(c, judge, asks_models) for c in criteria if isinstance(c, JudgedCriterion)),
        by_dialect={
            dialect: tuple(_asking(c, judge, asks_models) for c in defaults if c.name not in names)
            for dialect, defaults in (by_dialect or {}).items()
        },
        sample_rate=sample_rate,
        comparer=_asking(comparer, judge, asks_models) if leaves_open else None,
        deciding={
            dialect: frozenset(c.name for c in defaults) for dialect, defaults in (by_dialect or {}).items()
        },
    )


def _asking(criterion: J, judge: JudgeConfig, asks_models: bool) -> J:
    """Returns a criterion that asks by the prompts and the models of a run."""
    own = criterion.judge_model_options
    options = own.within(judge) if asks_models else own.without_others()
    asking = criterion if options is own else criterion.asking(options)
    return asking.with_prompts(judge.prompts)


def hash_place(name: str) -> float:
    """Returns the place of an id in [0, 1), evenly spread and always the same."""
    digest = sha256(name.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:6], "big") / 2**48
