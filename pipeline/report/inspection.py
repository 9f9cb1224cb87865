"""Inspections as text of a limited width, and proposals of a mapping for what no format fits."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from glob import escape, glob
from itertools import islice
from shlex import quote
from textwrap import wrap

from msgspec.structs import replace
from pydantic_core import from_json

from turnwise.pipeline.io.files import agent_folder, file_patterns, listed_files, read_files, whole_items
from turnwise.pipeline.io.records import file_records
from turnwise.pipeline.io.terminal import columns, cut, padded, printable, wrapped
from turnwise.pipeline.settings.run import MAX_RECORD_BYTES
from turnwise.schemas.config import DEFAULT_CRITERIA, EvalConfig, MappingConfig
from turnwise.schemas.conversation import Record
from turnwise.schemas.jsonio import JsonObject, counted, dump_json, is_local, listed
from turnwise.schemas.report import FileInspection, Inspection, Noted
from turnwise.schemas.score import Failure
from turnwise.transforms.criteria.base import CRITERIA, JudgedCriterion
from turnwise.transforms.decisions.first_page import nameless_text
from turnwise.transforms.decisions.inspection import ORDER, least_uses, suggested_mapping, unread_keys
from turnwise.transforms.formats.messages.kinds import objects_in
from turnwise.transforms.formats.messages.messages_base import UnreadMessagesError
from turnwise.transforms.formats.reading import AnyReader, LoggedConversation
from turnwise.transforms.formats.registry import ConfigInLogsError, UnknownFormatError, UnknownTableError

_HEADINGS = ("file", "format", "conversations", "turns", "calls", "cases", "not read")
_GAP = "  "
_SMALLEST = 12
_SCREEN = 39
_SIZES = ((6, 50, 6), (6, 50, 3), (6, 8, 3), (4, 8, 2), (3, 4, 0))
"""Most files, criteria of a list and lines of an example: from what is wanted to what always fits."""
_NOTES_SHOWN, _NOTE_LINES = 3, 7
_NAMES_SHOWN, _PATHS_SHOWN = 4, 2
_LONGEST = 480


def inspection_text(
    inspection: Inspection,
    paths: Sequence[str],
    width: int,
    config: str | None = None,
    has_starter: bool = False,
    plugins: Sequence[str] = (),
) -> str:
    """Returns an inspection of paths, on one screen: what they hold, what for, and what to run next.

    `config` is the file of the config that the criteria were tried with (None: none is named); `has_starter`:
    whether a starter config could be written for the logs; `plugins`: the values of `--plugin`.
    """
    files, others = inspection.files, inspection.other_files
    # The folder of all files with its separator; "": there is none, or only one file.
    below = ""
    if len(files) > 1 and all(is_local(file.path) for file in files):
        with suppress(ValueError):  # absolute and relative ones
            below = os.path.commonpath([os.path.dirname(file.path) for file in files])
        below = f"{below}{os.sep}" if below.strip(os.sep) else ""
    shown = [printable(name.removeprefix(below)) for name in others[:_PATHS_SHOWN]]
    names = listed(shown, _PATHS_SHOWN, len(others))
    # What a run of these files would lack.
    hints = [inspection.no_version] if inspection.no_version else []
    if (naming := sum(file.names_case for file in files)) and not any(file.cases for file in files):
        hints = [nameless_text(naming), *hints]
    text = ""
    for most_files, most_names, most_lines in _SIZES:
        blocks = [
            _table(files, below, width, most_files),
            _notes(files, below, width),
            _examples(files, width, most_lines) if most_lines else (),
            _criteria(files, width, most_names),
            [line for hint in hints for line in wrapped(hint, width)],
            _next_step(files, paths, width, config, has_starter, plugins),
            [cut(f"not looked at, by their names: {names}", width)] if others else (),
        ]
        text = "\n\n".join(part for block in blocks if (part := "\n".join(block)))
        if text.count("\n") < _SCREEN:
            break
    return text


def _table(files: Sequence[FileInspection], below: str, width: int, most: int) -> Iterator[str]:
    # Those of which something is to be mended first.
    every = []
    for file in sorted(files, key=lambda file: file.is_read):
        formats = ", ".join(filter(None, file.formats)) or ("not recognised" if file.records else "-")
        not_read = sum(note.count for note in file.not_read)
        figures = file.conversations, file.turns, file.calls, file.cases, not_read
        every.append([printable(file.path.removeprefix(below)), formats, *map(str, figures)])
    total = [str(sum(int(row[i]) for row in every)) for i in range(2, 7)]
    rows = [list(_HEADINGS), *every[:most]]
    if len(every) > 1:
        rows.append([f"total of {len(every)}", "", *total])
    if below:
        yield from wrapped(f"below {printable(below, _LONGEST)}", width)
    numbers = [max(columns(row[i]) for row in rows) for i in range(2, 7)]
    rest = width - sum(numbers) - len(_GAP) * 6
    longest = [max(columns(row[i]) for row in rows) for i in (0, 1)]
    widest = min(longest[1], max(_SMALLEST, rest - longest[0]))
    names = min(longest[0], max(_SMALLEST, rest - widest))
    for row in rows:
        name = row[0]
        if columns(name) > names:
            # A shortened name could be that of another file.
            yield from wrapped(name, width)
            name = ""
        texts = [padded(name, names), padded(printable(row[1], widest), widest)]
        cells = [" " * (size - columns(cell)) + cell for cell, size in zip(row[2:], numbers, strict=True)]
        yield cut(_GAP.join((*texts, *cells)), width)


def _notes(files: Sequence[FileInspection], below: str, width: int) -> Iterator[str]:
    """Yields what could not be read, and what was not understood, in at most eight lines."""
    notes: dict[tuple[str, str], Noted] = {}
    of_files = [("not read", note) for file in files for note in file.not_read]
    for what, note in of_files + [(note.what, note) for file in files for note in file.findings]:
        known = notes.setdefault((what, note.message), replace(note, count=0))
        known.count += note.count
    texts = []
    for (what, message), note in [*notes.items()][:_NOTES_SHOWN]:
        source = note.source.removeprefix(below)
        where = f"{source}, line {note.position}" if note.position else source
        more = f"{note.count} times, first " if note.count > 1 else ""
        texts.append(printable(f"{what}: {more}{where}: {message}", _LONGEST))
    empty = [file.path for file in files if not file.records and not file.not_read]
    texts += [f"{printable(path.removeprefix(below))}: the file holds nothing" for path in empty]
    if joined := sum(file.joined for file in files):
        texts.append(f"{counted(joined, 'event')} joined into conversations by their ids")
    if len(notes) > _NOTES_SHOWN:
        texts.append(f"... {len(notes) - _NOTES_SHOWN} more kinds of problems; --json has them")
    lines = [line for text in texts for line in wrapped(text, width, " " * 4)]
    yield from lines[:_NOTE_LINES]
    if len(lines) > _NOTE_LINES:
        yield "... --json has more"


def _examples(files: Sequence[FileInspection], width: int, most: int) -> Iterator[str]:
    """Yields the first conversation, and the first case, in a few lines each."""
    examples = [file.example for file in files if file.example]
    for example in {example["kind"] == "conversation": example for example in examples[::-1]}.values():
        version = f", {example['app_version']}" if example.get("app_version") else ""
        yield cut(printable(f"example: {example['kind']} {example['id']}{version}"), width)
        for who, text in example["lines"][:most]:
            yield cut(printable(f"  {who}: {text}"), width)


def _criteria(files: Sequence[FileInspection], width: int, most: int) -> Iterator[str]:
    """Yields the criteria that the files can feed; of those that eval cases would add, some."""
    uses = dict(sorted(least_uses(use for file in files for use in file.criteria).items()))
    tried, cases = sum(file.tried for file in files), sum(file.cases for file in files)
    helped = sorted(least_uses(use for file in files for use in file.case_criteria))
    of_cases = [name for name in helped if name not in uses or uses[name].applies == "cases"]
    if not tried and not cases:
        return
    which = "the first " if tried < sum(file.conversations for file in files) else ""
    yield "criteria" + (f", tried on {which}{counted(tried, 'conversation')}" if tried else "")
    judged = [*filter(_is_judged, of_cases)]
    needed: dict[str, list[str]] = {applies: [] for applies in ORDER}
    # Those of most conversations first, with their number where it is not all.
    for use in sorted(uses.values(), key=lambda use: -use.conversations):
        number = f" ({use.conversations})" if use.conversations < tried else ""
        needed[use.applies].append(use.criterion + number)
    missing = () if cases else (use.criterion for use in uses.values() if use.applies == "cases")
    added = sorted(missing, key=_is_judged)
    for label, names in (
        ("as they are", needed["scored"]),
        ("with a judge (--judge)", needed["judge"]),
        ("with these eval cases", [name for name in of_cases if name not in judged]),
        ("with these eval cases and a judge", judged),
        ("with eval cases (--eval_cases), too", added),
    ):
        if names:
            shown = listed(names, _NAMES_SHOWN if names is added else most)
            yield from wrapped(f"  {label}: {shown}", width, " " * 4)


def _is_judged(name: str) -> bool:
    kind = CRITERIA.get(name)  # none: a custom metric
    return kind is not None and issubclass(kind, JudgedCriterion)


def _next_step(
    files: Sequence[FileInspection],
    paths: Sequence[str],
    width: int,
    config: str | None,
    has_starter: bool,
    plugins: Sequence[str],
) -> list[str]:
    """Returns the command that these files are for, in lines that can be copied."""
    agent = agent_folder(paths[0]) if len(paths) == 1 else None
    logs = [file.path for file in files if file.conversations or file.joined]
    cases = [file.path for file in files if file.cases and file.path not in logs]
    configs = [config] if config else _with_note(files, ConfigInLogsError)
    run = " --plugin ".join(["turnwise run", *(_paths([plugin]) for plugin in plugins)])
    command = f"{run} --input {_paths(logs if cases or configs else paths)}"
    if agent is not None:
        command = f"{run} --input {_paths(paths)}"
        if not agent.logs and agent.cases:
            command = f"adk eval {_paths([*paths, agent.cases[0]])} && {command}"
    elif logs or cases:
        command = command if logs else f"{run} --input RECORDINGS_OF_THE_CASES"
        command += f" --eval_cases {_paths(cases)}" if cases else ""
        command += f" --config {_paths(configs[:1])}" if configs else ""
    elif _with_note(files, UnknownFormatError) or _with_note(files, UnknownTableError):
        return _copied(f"next: turnwise inspect --suggest {_paths(paths)}", width)
    else:
        return []
    fed = {use.criterion for file in files for use in file.criteria if use.applies == "scored"}
    if not (has_starter and logs) or cases or configs or agent:
        return _copied(f"next: {command} --output out", width)
    if fed.isdisjoint(DEFAULT_CRITERIA):
        # Without expectations, the default criteria give no verdict, and such a run ends with status 1.
        first = f"turnwise inspect {_paths(paths)} --starter_config starter.json"
        return _copied(f"next: {first} && {command} --config starter.json --output out", width)
    offer = "a config of criteria that these logs feed: add --starter_config FILE to this command"
    return [*wrapped(offer, width), *_copied(f"next: {command} --output out", width)]


def _with_note(files: Sequence[FileInspection], kind: type[ValueError]) -> list[str]:
    return [file.path for file in files if any(note.what == kind.__name__ for note in file.not_read)]


def _paths(paths: Sequence[str]) -> str:
    """Returns paths as a command takes them: many by a pattern that means these alone, if there is one."""
    if len(paths) > _PATHS_SHOWN:
        start, suffix = os.path.commonprefix(paths), os.path.splitext(paths[0])[1]  # noqa: RUF071
        for end in (f"*{suffix}", "*"):
            if sorted(glob(f"{escape(start)}{end}")) == sorted(paths):
                return f"{printable(quote(start)) if start else ''}{end}"
    return " ".join(printable(quote(path)) for path in paths)


def _copied(command: str, width: int) -> list[str]:
    lines = wrap(command, width - 2, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return [*(f"{line} \\" for line in lines[:-1]), *lines[-1:]]


_NO_CALLS = (
    "it names no calls, which then count as unknown; if the agent has no tools, and what is not read holds "
    "no calls and no errors, add tool_calls: `[]` to it"
)


def suggest_mapping(
    paths: Sequence[str], reader: AnyReader, config: EvalConfig
) -> tuple[MappingConfig, list[str], bool] | str:
    """Returns a mapping for the first record that no format fits, or why none can be proposed.

    Beside it: what is to be said of it, one line each, and whether it reads everything. Raises ConfigError if
    a path names nothing, or cannot be read.
    """
    if not (records := list(islice(_unknown(paths, reader), _MOST_RECORDS))):
        return "a format fits every record"
    proposal = suggested_mapping(records)
    if isinstance(proposal, str):
        return proposal
    mapping, roles = proposal
    if reader.read(Record("", 0, dump_json(records[0]))).format is not None:  # the mapping has to go first
        mapping = mapping.model_copy(update={"when": mapping.content.partition("[")[0]})
    mapped = AnyReader(config=config.model_copy(update={"mapping": mapping}))
    conversations = turns = rejected = reversible = 0
    has_words, unmapped = False, list[str]()
    for item in whole_items(read_files("inspect", paths, mapped, MAX_RECORD_BYTES)):
        if isinstance(item, Failure):
            rejected += 1
            unmapped += [item.message] if item.message.startswith(("the mapping", "mapping:")) else []
        if isinstance(item, LoggedConversation):
            conversations += 1
            turns += len(item.conversation.turns)
            ends = item.conversation.turns[:1] + item.conversation.turns[-1:]
            begins = bool(ends and ends[0].user is None and ends[0].agent)
            reversible += begins and bool(ends[1].user and not ends[1].agent)
            has_words = has_words or any(turn.user or turn.agent for turn in item.conversation.turns)
    if unmapped:
        return f"{len(unmapped)} of the records cannot be read as names of keys propose: {unmapped[0]}"
    if conversations and not has_words:
        return f"no words are read with the mapping that names of keys propose ({mapping.content})"
    content = mapping.content
    read = f"{counted(conversations, 'conversation')}, {counted(turns, 'turn')}"
    lines = [f"proposed by names of keys; it reads {read}, and leaves {counted(rejected, 'record')} unread"]
    keys = dict.fromkeys(key for record in records for key in unread_keys(record, mapping))
    if unread := ", ".join(printable(key) for key in keys if "{" in content or "[]" not in key):
        lines.append(f"not read by it: {unread}; name in `ignored` what holds neither words nor calls")
    if left_out := ", ".join(map(printable, roles)):
        lines.append(f"left out by it, as nobody's words: {left_out}; other roles are a finding")
    if "reverse(" in content:
        lines.append("by their times its messages are written newest first, so that it reverses them")
    elif conversations == reversible > 0:
        what = "with it the agent begins and the user ends every conversation"
        lines.append(f"{what}: if messages are written newest first, put reverse(...) around their list")
    lines += [] if "tool_calls: " in content or "{" not in content else [_NO_CALLS]
    return mapping, lines, bool(turns and not rejected)


_MOST_RECORDS = 200


def _unknown(paths: Sequence[str], reader: AnyReader) -> Iterator[JsonObject]:
    """Yields the objects that no format fits, or of which it reads nothing."""
    for path in listed_files(file_patterns("inspect", paths)):
        for record in () if isinstance(path, Failure) else file_records(path, MAX_RECORD_BYTES):
            if isinstance(record, Failure):
                continue
            read = reader.read(record)
            failed = [failure.error_type for failure in read.contents if isinstance(failure, Failure)]
            if read.format is not None and UnreadMessagesError.__name__ not in failed:
                continue
            try:
                value = from_json(record.data)
            except ValueError:
                continue
            yield from objects_in(value if isinstance(value, list) else [value])
