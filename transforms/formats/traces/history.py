"""Reads the histories that every model call repeats: what an earlier text held is not read again."""

from turnwise.transforms.formats.traces.message import SpanMessage
from turnwise.transforms.formats.traces.messages import read_messages

_KEPT = 8
_SHORTEST = 64


class HistoryReader:
    """Reads messages of JSON texts. Messages are shared between the results, so nobody may change them."""

    def __init__(self) -> None:
        self._known: list[tuple[str, str, list[SpanMessage]]] = []

    def clear(self) -> None:
        """Forgets all texts."""
        self._known = []

    def read(self, text: str, role: str) -> list[SpanMessage]:
        """Returns the messages of a text as `read_messages` does."""
        if len(text) < _SHORTEST or text[0] != "[" or text[-1] != "]":
            return read_messages(text, role)
        found = None
        for known, given, messages in reversed(self._known):
            if given == role and text.startswith(known):
                found = self._rest(text[len(known) :], messages, role)
                break
        if found is None:
            found = read_messages(text, role)
        self._known = [*self._known[-_KEPT:], (text[:-1], role, found)]
        return found

    def _rest(self, rest: str, messages: list[SpanMessage], role: str) -> list[SpanMessage] | None:
        """Returns messages with those of the rest of a list; None: it is no such rest."""
        rest = rest.lstrip()
        if rest == "]":
            return messages
        if rest[0] != "," or not messages:
            return None
        return [*messages, *read_messages(f"[{rest[1:]}", role)]


HISTORIES = HistoryReader()
"""The reader of this process; it is cleared after every conversation."""
