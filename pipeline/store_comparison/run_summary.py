"""The summary of a run: all that comparisons of its outcomes and figures read of it, in one text.

Where a summary is in force, no score and no result of its run has to be read.
"""

from base64 import b64decode, b64encode
from typing import Any, get_origin
from zlib import crc32

import msgspec
import numpy as np
from msgspec.structs import fields

from turnwise.pipeline.store.figures import RunFigures
from turnwise.transforms.decisions.comparison.sentences import Integers
from turnwise.transforms.decisions.comparison.sides import CodedColumn, ScoreKind
from turnwise.transforms.statistics.resampling import Numbers

_KINDS = ("|u1", "<u2", "<u4")
"""How NumPy calls unsigned integers of 1, 2 and 4 bytes."""
_FLOATS = "<f8"
_DIGITS = 8
"""Digits of a checksum."""


class SummaryCriterion(msgspec.Struct, frozen=True, array_like=True):
    """What a criterion gave conversations; see `CriterionColumn`.

    Attributes:
        criterion: Its name.
        values: Its different values; 0 where there is none.
        places: Place in `values`, for every conversation.
        kinds: The rest of its scores.
    """

    criterion: str
    values: Numbers
    places: Integers
    kinds: CodedColumn[ScoreKind | None]


class SummaryTraits(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What was left out of a conversation, and who judged it; see `ComparedConversation`.

    Attributes:
        rulers: Criterion and judge of the scores that a judge gave.
    """

    skipped: tuple[str, ...]
    sampled_out: tuple[str, ...]
    rulers: tuple[tuple[str, str], ...]


class StoredSummary(msgspec.Struct, frozen=True, array_like=True):
    """The conversations of a run, and its results without one; see `ComparedRecord`.

    Attributes:
        revisions: Highest revision of their scores; -1: they have none.
        criteria: What criteria gave them, by name.
        figures: Figures of its results; their conversations are places in the values of `conversations`.
    """

    conversations: CodedColumn[str]
    versions: CodedColumn[str]
    cases: CodedColumn[str]
    evaluations: CodedColumn[str]
    digests: CodedColumn[str | None]
    nanos: CodedColumn[int]
    is_result: CodedColumn[bool]
    revisions: CodedColumn[int]
    traits: CodedColumn[SummaryTraits]
    criteria: list[SummaryCriterion]
    figures: RunFigures


COLUMNS = tuple(own.name for own in fields(StoredSummary) if get_origin(own.type) is CodedColumn)
"""Names of the columns of a summary."""


def _stored_numbers(numbers: Any) -> tuple[str, str]:
    """Returns numbers as JSON holds them: their kind, and their bytes in base64."""
    kind = _FLOATS
    if numbers.dtype == np.int64:
        kind = next(kind for kind in _KINDS if numbers.max(initial=0) <= np.iinfo(kind).max)
    return kind, b64encode(numbers.astype(kind).tobytes()).decode()


def _read_numbers(wanted: Any, stored: Any) -> Integers | Numbers:
    kind, text = stored
    if kind not in ((_FLOATS,) if wanted == Numbers else _KINDS):
        raise ValueError("numbers in a summary are of another kind")
    numbers = np.frombuffer(b64decode(text, validate=True), kind)
    return numbers.astype(np.float64) if kind == _FLOATS else numbers.astype(np.int64)


_ENCODER = msgspec.json.Encoder(enc_hook=_stored_numbers)
_DECODER = msgspec.json.Decoder(StoredSummary, dec_hook=_read_numbers)


def text_of(summary: StoredSummary) -> str:
    """Returns a summary as it is stored: a checksum, and JSON."""
    content = _ENCODER.encode(summary)
    return f"{_checksum(content)}{content.decode()}"


def read_summary(text: str) -> StoredSummary:
    """Returns the summary of its text.

    Raises:
        ValueError: It was changed, or has the form of another version.
    """
    content = text[_DIGITS:].encode()
    if text[:_DIGITS] != _checksum(content):
        raise ValueError("a summary has another checksum than it states")
    try:
        return _DECODER.decode(content)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from None


def _checksum(content: bytes) -> str:
    return f"{crc32(content):0{_DIGITS}x}"
