"""The coder of states that are stored as MessagePack."""

from functools import cache
from typing import Any

import msgspec
from apache_beam.coders import Coder


@cache
def _decoder(kind: Any) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(kind)


class MessagePackCoder(Coder):
    """Encodes values of one type, which msgspec can convert."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def encode(self, value: Any) -> bytes:
        """Returns the encoded value."""
        return msgspec.msgpack.encode(value)

    def decode(self, encoded: bytes) -> Any:
        """Returns the decoded value."""
        return _decoder(self._kind).decode(encoded)
