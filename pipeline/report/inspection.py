"""Inspections as text of a limited width, and proposals of a mapping for what no format fits."""

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pydantic_core import from_json

from turnwise.pipeline.io.files import file_patterns, file_records, matched_files, read_files, whole_items
from turnwise.pipeline.io.terminal import columns, counted, cut, padded, printable, wrapped
from turnwise.pipeline.settings.run import MAX_RECORD_BYTES
from turnwise.schemas.config import EvalConfig, MappingConfig
from turnwise.schemas.inspection import Applies, CriterionUse, FileInspection, Inspection, Noted
from turnwise.schemas.jsonio import JsonObject, is_local
from turnwise.schemas.score import Failure
from turnwise.transforms.decisions.inspection import add_use, suggested_mapping, unread_keys
from turnwise.transforms.formats.reading import AnyReader, LoggedConversation

_HEADINGS = ("file", "format", "records", "conversations", "turns", "calls", "cases", "not read")
_GAP = "  "
_SMALLEST = 20
_SHOWN = 5
_LONGEST = 2_000
_FILES_SHOWN = 20
_SAID: dict[Applies, str] = {
    "scored": "scored as they are",
    "judge": "scored by a judge (--judge)",
    "cases": "scored with eval cases",
}


def inspection_text(inspection: Inspection, width: int) -> str:
    """Returns an inspection for people: a table of files, what was not read, examples, and the criteria."""
    below = _common_folder([each.path for each in inspection.files])
    blocks = ["\n".join(_table(inspection.files, below, width))]
    details = ["\n".join(lines) for each in inspection.files if (lines := _details(each, below, width))]
    blocks += details[:_FILES_SHOWN]
    if len(details) > _FILES_SHOWN:
        blocks.append(f"... and {len(details) - _FILES_SHOWN} more files; --json has all of them")
    blocks.append("\n".join(_criteria(inspection.files, width)))
    if inspection.other_files:
        names = ", ".join(printable(name) for name in inspection.other_files[:_SHOWN])
        more = ", ..." if len(inspection.other_files) > _SHOWN else ""
        blocks.append("\n".join(wrapped(f"not looked at, by their names: {names}{more}", width)))
    return "\n\n".join(block for block in blocks if block)


def _common_folder(paths: Sequence[str]) -> str:
    """Returns the folder of all paths with its separator; "" if there is none, or only one path."""
    if len(paths) < 2 or any(not is_local(path) for path in paths):
        return ""
    try:
        folder = os.path.commonpath([os.path.dirname(path) for path in paths])
    except ValueError:  # absolute and relative ones
        return ""
    return f"{folder}{os.sep}" if folder.strip(os.sep) else ""


def _table(files: Sequence[FileInspection], below: str, width: int) -> Iterator[str]:
    rows = [list(_HEADINGS), *(_row(each, below) for each in files)]
    if below:
        yield from wrapped(f"below {printable(below, _LONGEST)}", width)
    if len(files) > 1:
        rows.append(["total", "", *(str(sum(int(row[i]) for row in rows[1:])) for i in range(2, 8))])
    numbers = [max(columns(row[i]) for row in rows) for i in range(2, 8)]
    rest = width - sum(numbers) - len(_GAP) * 7
    longest = [max(columns(row[i]) for row in rows) for i in (0, 1)]
    formats = min(longest[1], max(_SMALLEST, rest - longest[0]))
    paths = min(longest[0], max(_SMALLEST, rest - formats))
    for row in rows:
        name = row[0]
        if columns(name) > paths:
            # A shortened name could be that of another file.
            yield from wrapped(name, width)
            name = ""
        texts = [padded(name, paths), padded(printable(row[1], formats), formats)]
        cells = [" " * (size - columns(cell)) + cell for cell, size in zip(row[2:], numbers, strict=True)]
        yield cut(_GAP.join((*texts, *cells)), width)


def _row(each: FileInspection, below: str) -> list[str]:
    formats = ", ".join(filter(None, each.formats)) or ("not recognised" if each.records else "-")
    not_read = sum(note.count for note in each.not_read)
    numbers = (each.records, each.conversations, each.turns, each.calls, each.cases, not_read)
    return [printable(each.path.removeprefix(below)), formats, *map(str, numbers)]


def _details(each: FileInspection, below: str, width: int) -> list[str]:
    lines = [_note("not read", note, each.path) for note in each.not_read[:_SHOWN]]
    lines += [_note(note.what, note, each.path) for note in each.findings[:_SHOWN]]
    for kind, notes in (("not read", each.not_read), ("findings", each.findings)):
        if len(notes) > _SHOWN:
            lines.append(f"... {len(notes) - _SHOWN} more kinds of {kind}; --json has them")
    if not each.records and not each.not_read:
        lines.append("the file holds nothing")
    if each.joined:
        lines.append(f"{counted(each.joined, 'event')} joined into conversations by their ids")
    if each.example:
        lines += _example(each.example)
    name = printable(each.path.removeprefix(below))
    inner = [one for line in lines for one in wrapped(f"  {line}", width, " " * 6)]
    return [*wrapped(name, width), *inner] if lines else []


def _note(said: str, note: Noted, path: str) -> str:
    place = f"line {note.position}" if note.source == path else f"{note.source}:{note.position}"
    where = f"{place}: " if note.position else ""
    more = f"{note.count} times, first " if note.count > 1 else ""
    return printable(f"{said}: {more}{where}{note.message}", _LONGEST)


def _example(example: JsonObject) -> Iterator[str]:
    version = f", {example['app_version']}" if example.get("app_version") else ""
    yield printable(f"example: {example['kind']} {example['id']}{version}")
    for who, said in example["lines"]:
        yield printable(f"  {who}: {said}")


def merged_uses(files: Sequence[FileInspection]) -> list[CriterionUse]:
    """Returns what each criterion needs over all files: the least that it needs anywhere."""
    uses: dict[str, CriterionUse] = {}
    for each in files:
        for use in each.criteria:
            add_use(uses, CriterionUse(use.criterion, use.applies, use.conversations, use.why))
    return sorted(uses.values(), key=lambda use: use.criterion)


def _criteria(files: Sequence[FileInspection], width: int) -> Iterator[str]:
    uses, tried = merged_uses(files), sum(each.tried for each in files)
    if not uses:
        return
    which = "the first " if tried < sum(each.conversations for each in files) else ""
    yield f"criteria, tried on {which}{counted(tried, 'conversation')}"
    for applies, said in _SAID.items():
        names = [
            f"{use.criterion} ({use.conversations})"
            if use.conversations < tried and applies != "cases"
            else use.criterion
            for use in uses
            if use.applies == applies
        ]
        yield from wrapped(f"  {said}: {', '.join(names) or 'none'}", width, " " * 4)
    reasons: dict[str, list[str]] = {}
    for use in uses:
        if use.applies == "no":
            reasons.setdefault(use.why or "", []).append(use.criterion)
    for why, names in reasons.items():
        yield from wrapped(f"  no score: {', '.join(names)}: {printable(why)}", width, " " * 4)


class Suggestion(NamedTuple):
    """A proposed mapping, and what it reads.

    Attributes:
        unread: Keys of the first such record that the mapping does not read.
        rejected: Number of records and conversations that are not read with it.
    """

    mapping: MappingConfig
    conversations: int
    turns: int
    rejected: int
    has_calls: bool
    unread: list[str]


def suggest_mapping(paths: Sequence[str], reader: AnyReader, config: EvalConfig) -> Suggestion | None:
    """Returns a mapping for the first record that no format fits; None: none can be proposed.

    Raises:
        ConfigError: A path names nothing, or cannot be read.
    """
    proposals = ((record, suggested_mapping(record)) for record in _unknown(paths, reader))
    record, mapping = next((pair for pair in proposals if pair[1] is not None), ({}, None))
    if mapping is None:
        return None
    mapped = AnyReader(config=config.model_copy(update={"mapping": mapping}))
    conversations = turns = rejected = 0
    for item in whole_items(read_files("inspect", paths, mapped, MAX_RECORD_BYTES)):
        rejected += isinstance(item, Failure)
        if isinstance(item, LoggedConversation):
            conversations += 1
            turns += len(item.conversation.turns)
    return Suggestion(
        mapping,
        conversations,
        turns,
        rejected,
        "tool_calls: " in mapping.content,
        unread_keys(record, mapping),
    )


def _unknown(paths: Sequence[str], reader: AnyReader) -> Iterator[JsonObject]:
    """Yields the objects that no format fits."""
    for path in matched_files(file_patterns("inspect", paths)):
        for record in () if isinstance(path, Failure) else file_records(path, MAX_RECORD_BYTES):
            if isinstance(record, Failure) or reader.read(record).format is not None:
                continue
            try:
                value = from_json(record.data)
            except ValueError:
                continue
            if isinstance(value, dict):
                yield value
