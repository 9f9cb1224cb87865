"""Recognises the format of a parsed record by its keys."""

from itertools import islice

from turnwise.schemas.jsonio import JsonValue
from turnwise.transforms.formats.chat.format import is_message
from turnwise.transforms.formats.foreign import NEXT_STEP, foreign_format
from turnwise.transforms.formats.messages.messages_base import DIALECTS, dialects_of
from turnwise.transforms.formats.messages.values import without_nulls
from turnwise.transforms.formats.nearest import nearest_format
from turnwise.transforms.formats.registry import FORMATS, formats_in_order

SHOWN_KEYS = 8
_INSPECT = "see what the file holds with `turnwise inspect`"


def recognise(value: JsonValue) -> str:
    """Returns the name of a parsed record's format.

    Args:
        value: A JSON object; of the formats that are lists (see `Format.is_list`) also the list.

    Raises:
        ValueError: No format fits, or it is another system's that is not read; one line that says what it is.
    """
    # Columns that are empty in a row may be what only its format has.
    for spelling in (without_nulls(value), value):
        sample = spelling[0] if isinstance(spelling, list) and spelling else spelling
        record = {"messages": spelling} if _is_list_of(spelling, sample) else sample
        if isinstance(record, dict):
            for each in formats_in_order():
                if each.recognises(record):
                    return each.name
            for each in formats_in_order():
                if each.recognises_last and each.recognises_last(record):
                    return each.name
    raise ValueError(_refusal(value, record))


def _is_list_of(value: JsonValue, sample: JsonValue) -> bool:
    """Returns whether a value is a list of messages, or a single one that is no whole reply of a model."""
    if not isinstance(sample, dict):
        return False
    fits = is_message(sample) or any(dialect.fits(sample) for dialect in DIALECTS.values())
    return fits and (isinstance(value, list) or not dialects_of(sample))


def _refusal(value: JsonValue, record: JsonValue) -> str:
    """Returns what is said of a record that no format fits, given also as a sample of a list."""
    dialects = dialects_of(record) if isinstance(record, dict) else frozenset()
    if len(dialects) > 1:
        return f"messages in several formats: {', '.join(sorted(dialects))}; name one as --input_format"
    foreign = foreign_format(record if isinstance(record, dict) else value)
    near = nearest_format(record) if isinstance(record, dict) else None
    if foreign:
        return f"{foreign}: this format is not read; {f'{near}; ' if near else ''}{NEXT_STEP}"
    if _is_list_of(value, value):
        said = "a single message; a chat is one record that holds all its messages in a list under messages"
        return f"unrecognised record: {_described(value)}: {said}"
    if near:
        return f"unrecognised record: {near}; {_described(record)}; {_INSPECT}, or {NEXT_STEP}"
    known = f"known formats: {', '.join(sorted(FORMATS))}"
    return f"unrecognised record: {_described(record)}; {known}; {_INSPECT}, or {NEXT_STEP}"


def _described(record: JsonValue) -> str:
    if not isinstance(record, dict):
        return f"{type(record).__name__}, not an object"
    if not record:
        return "an object without keys"
    more = ", ..." if len(record) > SHOWN_KEYS else ""
    # A key may hold line ends.
    shown = (key if key.isprintable() else repr(key) for key in islice(record, SHOWN_KEYS))
    return f"keys {', '.join(shown)}{more}"
