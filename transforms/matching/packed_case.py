"""Eval cases as bytes: a run holds all that it is given, and uses few of them."""

import pickle
import zlib
from typing import Any, NamedTuple

from turnwise.schemas.case import CaseKey, EvalCase
from turnwise.schemas.conversation import Record

_FASTEST = 1


class PackedCase(NamedTuple):
    """An eval case that this program encoded and compressed."""

    eval_set_id: str | None
    eval_id: str
    data: bytes

    @property
    def key(self) -> CaseKey:
        """Unique key of the case."""
        return CaseKey(self.eval_set_id or "", self.eval_id)

    def unpacked(self) -> EvalCase:
        """Returns the case."""
        case: EvalCase = _decoded(self.data)
        return case


def packed_case(case: EvalCase) -> PackedCase:
    """Encodes a case."""
    return PackedCase(case.eval_set_id, case.eval_id, _encoded(case))


def packed_entry(entry: tuple[Record, EvalCase]) -> bytes:
    """Encodes a case with its record."""
    return _encoded(entry)


def unpacked_entry(data: bytes) -> tuple[Record, EvalCase]:
    """Returns the case and the record that `packed_entry` encoded."""
    entry: tuple[Record, EvalCase] = _decoded(data)
    return entry


def _encoded(value: Any) -> bytes:
    return zlib.compress(pickle.dumps(value, pickle.HIGHEST_PROTOCOL), _FASTEST)


def _decoded(data: bytes) -> Any:
    return pickle.loads(zlib.decompress(data))
