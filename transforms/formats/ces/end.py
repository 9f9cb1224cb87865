"""Determines how CES sessions ended."""

from turnwise.schemas.ces.conversation import Span
from turnwise.schemas.conversation import Turn
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.formats.endings import UNKNOWN, End, error_end, stated_end
from turnwise.transforms.formats.messages.values import stated

END_SESSION = "end_session"


def session_end(last: Turn | None, root: Span | None = None, metadata: JsonObject | None = None) -> End:
    """Returns how a session ended.

    A session that its agent ended (CES's `EndSession`) came to its end or was handed over to a person. A last
    turn with an error in its root span and without an answer broke off.

    Args:
        last: The last turn; its call of `end_session` has the same fields as the metadata.
        root: The trace of that turn.
        metadata: Of the session's `EndSession`; None: the log has none.
    """
    if last is None:
        return UNKNOWN
    calls = (call.args or {} for call in reversed(last.tool_calls) if call.name == END_SESSION)
    said = next(calls, metadata)
    if said is not None:
        is_escalated = said.get("session_escalated") in (True, "true", "True")
        return stated_end("hand_off" if is_escalated else "normally", said.get("reason"))
    error = (root.attributes or {}).get("error") if root is not None else None
    return error_end(error) if error and not last.agent else UNKNOWN


def end_metadata(output: JsonObject) -> JsonObject | None:
    """Returns the metadata of the `EndSession` in a SessionOutput; None: it is no such output."""
    found = stated(output).get("endSession", output.get("end_session"))
    metadata = found.get("metadata") if isinstance(found, dict) else None
    return None if found is None else metadata if isinstance(metadata, dict) else {}
