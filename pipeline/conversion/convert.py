"""Converts files."""

from collections import Counter
from collections.abc import Iterable
from typing import TypeAlias

from turnwise.pipeline.conversion.output import RecordFile, record_file
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation, Record
from turnwise.schemas.inspection import Conversion, NotConverted
from turnwise.schemas.score import Failure
from turnwise.transforms.formats.reading import FoundCase, LoggedConversation
from turnwise.transforms.tools.conversion import Converted, Target, converted

ReadItem: TypeAlias = LoggedConversation | FoundCase | Failure
_KEPT = 20
_REPEATED = "equal to an earlier record"


def convert_items(items: Iterable[ReadItem], target: Target, output: str) -> Conversion:
    """Writes conversations and eval cases as records of a target.

    Args:
        items: What was read, and what could not be.
        target: The target.
        output: Path of the file.

    Raises:
        ConfigError: The file is there, or cannot be written.
    """
    done = Conversion(to=target.name)
    with record_file(output, target) as file:
        for item in items:
            if isinstance(item, Failure):
                add_lost(done, item.source or "", item.position or 0, item.message)
            elif isinstance(item, FoundCase):
                done.cases += 1
                write_item(item.case, item.record, target, file, done)
            else:
                done.conversations += 1
                write_item(item.conversation, item.record, target, file, done)
        done.written, done.output = file.count, output if file.count else None
    return done


def write_item(
    item: Conversation | EvalCase, record: Record, target: Target, file: RecordFile, done: Conversion
) -> None:
    """Writes one of them, and adds to what was done."""
    try:
        made = converted(item, target)
        is_new = file.add(made.record)
    except ValueError as error:
        add_lost(done, record.source, record.position, " ".join(str(error).split()))
        return
    if not is_new:
        done.skipped[_REPEATED] = done.skipped.get(_REPEATED, 0) + 1
        return
    add_differences(done, made)


def add_differences(done: Conversion, made: Converted) -> None:
    """Adds what a target does not hold, and what it alone states."""
    done.not_held = dict(Counter(done.not_held) + made.not_held)
    done.added = dict(Counter(done.added) + made.added)


def add_lost(done: Conversion, source: str, position: int, reason: str) -> None:
    """Adds what was not converted."""
    done.lost_count += 1
    if len(done.lost) < _KEPT:
        done.lost.append(NotConverted(source, position, reason))
