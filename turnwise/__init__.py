"""Scores conversations between people and agents, turn by turn.

>>> import turnwise
>>> turn = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello"}}
>>> log = {"conversation_id": "c1", "turns": [turn]}
>>> turnwise.evaluate(log, criteria={"response_match_score": 0.8}).passed
True
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise.pipeline.io.sinks import RefusedRow, RunRecord, SinkKind, StreamChange, register_sink
    from turnwise.pipeline.python.evaluate import (
        ReadError,
        evaluate,
        evaluate_async,
        read_cases,
        read_conversations,
    )
    from turnwise.pipeline.python.inputs import RunResult, Table
    from turnwise.schemas.case import CaseThresholds, EvalCase, UserFact
    from turnwise.schemas.config import ConfigError, EvalConfig
    from turnwise.schemas.conversation import (
        Citation,
        Conversation,
        Expectation,
        ExpectedOutcome,
        ExpectedTurn,
        GroundedAnswer,
        GroundedClaim,
        GroundedStep,
        Problem,
        Record,
        Reference,
        Rubric,
        SafetyRating,
        TimedSpan,
        ToolCall,
        ToolDeclaration,
        ToolResponse,
        Turn,
        TurnThresholds,
        Usage,
    )
    from turnwise.schemas.rows import (
        ConversationRow,
        FailureRow,
        MetricsByAppVersionRow,
        MetricsBySliceRow,
        MetricsByTurnRow,
        ResultRow,
        ScoreRow,
    )
    from turnwise.schemas.score import Score
    from turnwise.transforms.criteria.base import JudgedCriterion, MeasuredCriterion
    from turnwise.transforms.decisions.conversion import Codec, Target, register_target
    from turnwise.transforms.formats.identity import Paths
    from turnwise.transforms.formats.registry import (
        EventReader,
        Format,
        Lent,
        SplitEvent,
        Splitter,
        register_format,
    )
    from turnwise.transforms.judging.ask import Ask, JudgeModelOptions, JudgeSample, Question, ask_all
    from turnwise.transforms.judging.backends.base import Backend, Fault, RawReply
    from turnwise.transforms.judging.judges import Access, JudgeKind, register_judge
    from turnwise.transforms.judging.prompts import Reply, Section, fill
    from turnwise.transforms.matching.sample import Sample, TurnPair

__all__ = [
    "Access",
    "Ask",
    "Backend",
    "CaseThresholds",
    "Citation",
    "Codec",
    "ConfigError",
    "Conversation",
    "ConversationRow",
    "EvalCase",
    "EvalConfig",
    "EventReader",
    "Expectation",
    "ExpectedOutcome",
    "ExpectedTurn",
    "FailureRow",
    "Fault",
    "Format",
    "GroundedAnswer",
    "GroundedClaim",
    "GroundedStep",
    "JudgeKind",
    "JudgeModelOptions",
    "JudgeSample",
    "JudgedCriterion",
    "Lent",
    "MeasuredCriterion",
    "MetricsByAppVersionRow",
    "MetricsBySliceRow",
    "MetricsByTurnRow",
    "Paths",
    "Problem",
    "Question",
    "RawReply",
    "ReadError",
    "Record",
    "Reference",
    "RefusedRow",
    "Reply",
    "ResultRow",
    "Rubric",
    "RunRecord",
    "RunResult",
    "SafetyRating",
    "Sample",
    "Score",
    "ScoreRow",
    "Section",
    "SinkKind",
    "SplitEvent",
    "Splitter",
    "StreamChange",
    "Table",
    "Target",
    "TimedSpan",
    "ToolCall",
    "ToolDeclaration",
    "ToolResponse",
    "Turn",
    "TurnPair",
    "TurnThresholds",
    "Usage",
    "UserFact",
    "ask_all",
    "evaluate",
    "evaluate_async",
    "fill",
    "read_cases",
    "read_conversations",
    "register_format",
    "register_judge",
    "register_sink",
    "register_target",
]

_MODULES = {
    "pipeline.io.sinks": (
        "RefusedRow",
        "RunRecord",
        "SinkKind",
        "StreamChange",
        "register_sink",
    ),
    "pipeline.python.evaluate": (
        "ReadError",
        "evaluate",
        "evaluate_async",
        "read_cases",
        "read_conversations",
    ),
    "pipeline.python.inputs": (
        "RunResult",
        "Table",
    ),
    "schemas.case": (
        "CaseThresholds",
        "EvalCase",
        "UserFact",
    ),
    "schemas.config": (
        "ConfigError",
        "EvalConfig",
    ),
    "schemas.conversation": (
        "Citation",
        "Conversation",
        "Expectation",
        "ExpectedOutcome",
        "ExpectedTurn",
        "GroundedAnswer",
        "GroundedClaim",
        "GroundedStep",
        "Problem",
        "Record",
        "Reference",
        "Rubric",
        "SafetyRating",
        "TimedSpan",
        "ToolCall",
        "ToolDeclaration",
        "ToolResponse",
        "Turn",
        "TurnThresholds",
        "Usage",
    ),
    "schemas.rows": (
        "ConversationRow",
        "FailureRow",
        "MetricsByAppVersionRow",
        "MetricsBySliceRow",
        "MetricsByTurnRow",
        "ResultRow",
        "ScoreRow",
    ),
    "schemas.score": ("Score",),
    "transforms.criteria.base": (
        "JudgedCriterion",
        "MeasuredCriterion",
    ),
    "transforms.decisions.conversion": (
        "Codec",
        "Target",
        "register_target",
    ),
    "transforms.formats.identity": ("Paths",),
    "transforms.formats.registry": (
        "EventReader",
        "Format",
        "Lent",
        "SplitEvent",
        "Splitter",
        "register_format",
    ),
    "transforms.judging.ask": (
        "Ask",
        "JudgeModelOptions",
        "JudgeSample",
        "Question",
        "ask_all",
    ),
    "transforms.judging.backends.base": (
        "Backend",
        "Fault",
        "RawReply",
    ),
    "transforms.judging.judges": (
        "Access",
        "JudgeKind",
        "register_judge",
    ),
    "transforms.judging.prompts": (
        "Reply",
        "Section",
        "fill",
    ),
    "transforms.matching.sample": (
        "Sample",
        "TurnPair",
    ),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    """Imports a public name at its first use, so that `import turnwise` itself takes no time."""
    if name not in _HOME:
        raise AttributeError(f"module 'turnwise' has no attribute {name!r}")
    value = getattr(import_module(f"turnwise.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
