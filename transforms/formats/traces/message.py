"""A message of a model call, independent of the library that wrote it."""

from collections.abc import Iterable

import msgspec

from turnwise.schemas.jsonio import JsonValue
from turnwise.transforms.formats.traces.notes import is_context, is_retry
from turnwise.transforms.formats.unread import UNREAD, Unread

USER, AGENT, TOOL, SYSTEM = "user", "assistant", "tool", "system"
UNKNOWN = "unknown"
"""Role of a message that states a role or type which no reader has: it is nobody's."""
CONTENT_OFF = "ContentNotRecorded"
HOSTED = {
    f"{name}_call": name
    for name in ("file_search", "web_search", "code_interpreter", "image_generation", "tool_search")
}
"""Type of a call to a tool that the model's service runs -> name of the tool."""
TRANSFER = "transfer_to_"
"""How names of calls begin that hand over to another agent."""
HIDDEN = frozenset(
    ("__REDACTED__", "<elided>", "readacted", "redacted", "<redacted>", "[REDACTED]", "<not specified>")
)
"""What writers put in the place of a content that they hide."""
HIDDEN_TEXT = "text that the writer left out"
"""Type of a part of a message of which the writer recorded no content."""
OBJECT = "object of a program"
"""Type of a part that is the text of a Python object."""
PERHAPS_CHOICES = "texts that are parts of a reply, or alternatives"
"""Type of a part that stands for texts of which it is not stated what they are."""
FURTHER_CHOICE = "further choice"
"""Type of a part that stands for an alternative reply to the same request."""
_MARKS = {
    HIDDEN_TEXT: (CONTENT_OFF, "the words of a message are not in the log"),
    FURTHER_CHOICE: (UNREAD, "the reply has alternatives; the first one is read"),
    PERHAPS_CHOICES: (
        "SeveralAnswers",
        "the reply has several texts, and the trace does not say whether they are alternatives",
    ),
}
"""Type of a part that stands for what is left out -> kind and text of its finding."""


class MessageCall(msgspec.Struct, gc=False):
    """A call that a model asks for; arguments as they are written.

    Attributes:
        name: Name of the tool.
        args: Arguments.
        id: Id of the call.
        is_hosted: Whether the model's service runs the tool itself, so that the reply goes on after it.
    """

    name: str | None = None
    args: JsonValue = None
    id: str | None = None
    is_hosted: bool = False


class MessageResult(msgspec.Struct, gc=False):
    """A result that is given to a model."""

    response: JsonValue = None
    id: str | None = None
    name: str | None = None
    error: bool | str | None = None


class SpanMessage(msgspec.Struct, gc=False):
    """A message.

    Attributes:
        role: `user`, `assistant`, `tool` or `system`; `unknown`: it states another.
        texts: Texts in order.
        calls: Calls in order.
        results: Results in order.
        parts: Types of the parts that are neither, such as media.
        keys: Its keys that are not read and may hold calls, results or words.
        stated_role: What a message of an unknown role states as its role or type; None: nothing.
        finish: Finish reason of the choice; None: not stated.
        answer_from: How many texts stand before the last call that the model's service ran.
    """

    role: str
    texts: list[str] = []
    calls: list[MessageCall] = []
    results: list[MessageResult] = []
    parts: list[str] = []
    keys: list[str] = []
    stated_role: str | None = None
    finish: str | None = None
    answer_from: int = 0
    _is_users: bool | None = None

    @property
    def text(self) -> str:
        """All texts, one a line."""
        return "\n".join(self.texts)

    @property
    def is_users(self) -> bool:
        """Whether a user wrote it: it is no result, no other agent's act and no note to try again.

        It is found out once, when the message is complete, because every model call repeats the history.
        """
        if self._is_users is None:
            self._is_users = self._found_users()
        return self._is_users

    def _found_users(self) -> bool:
        if self.role != USER or self.results or not (self.texts or self.parts):
            return False
        text = self.text.strip()
        return bool(text or self.parts) and not (is_retry(text) or is_context(self.texts, self.parts))

    @property
    def is_read(self) -> bool:
        """Whether nothing of it is left unread."""
        return not (self.parts or self.keys or self.role == UNKNOWN)

    def add_unread(self, unread: Unread, by_agent: bool | None = None) -> None:
        """Adds what is not read of it, or unknown of it; None: by its role, whether the agent sent it."""
        by_agent = self.role in (AGENT, UNKNOWN) if by_agent is None else by_agent
        if self.role == UNKNOWN:
            unread.role(self.stated_role, by_agent)
        for part in self.parts:
            if part in _MARKS:
                unread.add(*_MARKS[part], words=by_agent and part != FURTHER_CHOICE)
            else:
                unread.part(part, by_agent)
        for key in self.keys:
            unread.key(key, by_agent)

    @property
    def sign(self) -> tuple[str, str, int, int]:
        """What is compared of two spellings of one message: no ids."""
        return self.role, self.text.strip(), len(self.calls), len(self.results)


def is_spoken(messages: Iterable[SpanMessage]) -> bool:
    """Returns whether messages hold more than instructions and what is nobody's."""
    return any(each.role not in (SYSTEM, UNKNOWN) for each in messages)
