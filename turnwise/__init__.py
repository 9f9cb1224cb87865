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
    from turnwise.pipeline.io.sinks.base import SinkKind, register_sink
    from turnwise.pipeline.python.evaluate import (
        ReadError,
        evaluate,
        evaluate_async,
        read_cases,
        read_conversations,
    )
    from turnwise.pipeline.python.inputs import RunResult, Table
    from turnwise.schemas.case import EvalCase
    from turnwise.schemas.config import ConfigError, EvalConfig
    from turnwise.schemas.conversation import (
        Conversation,
        ExpectedOutcome,
        ExpectedTurn,
        Problem,
        Record,
        TimedSpan,
        ToolCall,
        ToolDeclaration,
        ToolResponse,
        Turn,
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
    from turnwise.transforms.formats.registry import EventReader, Format, register_format
    from turnwise.transforms.judging.ask import Ask, JudgeModelOptions, JudgeSample, Question, ask_all
    from turnwise.transforms.judging.backends.base import Backend, Fault, RawReply
    from turnwise.transforms.judging.judges import JudgeKind, register_judge
    from turnwise.transforms.judging.prompts import Reply, Section, fill
    from turnwise.transforms.matching.sample import Sample, TurnPair

__all__ = [
    "Ask",
    "Backend",
    "Codec",
    "ConfigError",
    "Conversation",
    "ConversationRow",
    "EvalCase",
    "EvalConfig",
    "EventReader",
    "ExpectedOutcome",
    "ExpectedTurn",
    "FailureRow",
    "Fault",
    "Format",
    "JudgeKind",
    "JudgeModelOptions",
    "JudgeSample",
    "JudgedCriterion",
    "MeasuredCriterion",
    "MetricsByAppVersionRow",
    "MetricsBySliceRow",
    "MetricsByTurnRow",
    "Problem",
    "Question",
    "RawReply",
    "ReadError",
    "Record",
    "Reply",
    "ResultRow",
    "RunResult",
    "Sample",
    "Score",
    "ScoreRow",
    "Section",
    "SinkKind",
    "Table",
    "Target",
    "TimedSpan",
    "ToolCall",
    "ToolDeclaration",
    "ToolResponse",
    "Turn",
    "TurnPair",
    "Usage",
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
    "pipeline.io.sinks.base": ("SinkKind", "register_sink"),
    "pipeline.python.evaluate": (
        "ReadError",
        "evaluate",
        "evaluate_async",
        "read_cases",
        "read_conversations",
    ),
    "pipeline.python.inputs": ("RunResult", "Table"),
    "schemas.case": ("EvalCase",),
    "schemas.config": ("ConfigError", "EvalConfig"),
    "schemas.conversation": (
        "Conversation",
        "ExpectedOutcome",
        "ExpectedTurn",
        "Problem",
        "Record",
        "TimedSpan",
        "ToolCall",
        "ToolDeclaration",
        "ToolResponse",
        "Turn",
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
    "transforms.criteria.base": ("JudgedCriterion", "MeasuredCriterion"),
    "transforms.decisions.conversion": ("Codec", "Target", "register_target"),
    "transforms.formats.registry": ("EventReader", "Format", "register_format"),
    "transforms.judging.ask": ("Ask", "JudgeModelOptions", "JudgeSample", "Question", "ask_all"),
    "transforms.judging.backends.base": ("Backend", "Fault", "RawReply"),
    "transforms.judging.judges": ("JudgeKind", "register_judge"),
    "transforms.judging.prompts": ("Reply", "Section", "fill"),
    "transforms.matching.sample": ("Sample", "TurnPair"),
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
