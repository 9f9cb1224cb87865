"""Implements `turnwise tools`: lists the tools of logs and cases as the config's `tools`. Without Beam."""

import glob
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from turnwise.pipeline.cli.arguments import add_plugin_argument, format_help
from turnwise.pipeline.io.records import OTHER_SUFFIXES, SUFFIXES, split_records, unzipped
from turnwise.pipeline.io.terminal import counted, printable, say
from turnwise.pipeline.io.walking import Unreadable, files_at, shown_path
from turnwise.pipeline.settings.config_file import read_config
from turnwise.pipeline.settings.extras import check_places
from turnwise.pipeline.settings.parser import OptionParser
from turnwise.schemas.case import EvalCase
from turnwise.schemas.config import ConfigError
from turnwise.schemas.conversation import Conversation, ToolCall
from turnwise.schemas.extension.plugins import load_plugins
from turnwise.schemas.failure import RAISED, Failure
from turnwise.schemas.record import Record
from turnwise.schemas.tools import ToolEffect
from turnwise.schemas.values import JsonObject
from turnwise.transforms.effects.tool_catalog import (
    ToolCatalog,
    ToolSettings,
    called_tool,
    conversation_tools,
    sort_settings,
)
from turnwise.transforms.formats.base import AUTO, check_log_format
from turnwise.transforms.formats.events import ConversationEvent, join_events
from turnwise.transforms.formats.readers import CaseReader, LogReader
from turnwise.transforms.matching.cases import inline_case

T = TypeVar("T")
_LARGEST_RECORD = 1 << 30


def list_tools(argv: Sequence[str]) -> int:
    """Prints every tool with its effect and the source of that information.

    Returns:
        Exit status: 0, or 1 if nothing could be read.

    Raises:
        ConfigError: An option, the config or a path is wrong.
    """
    options = _parser().parse_args(argv)
    load_plugins(options.plugin)
    check_log_format(options.input_format)
    config = read_config(options.config)
    listing = _ToolCollector(
        sort_settings(config.tools),
        LogReader(options.input_format, config.discovery_engine, config.mapping),
        CaseReader(config.ces),
    )
    _each_record([*options.log, *options.eval_cases], listing.add, listing.problems)
    say(_text(listing.tools))
    guessed = sum(tool.is_guess for tool in listing.tools.values())
    print(f"{counted(len(listing.tools), 'tool')}, {guessed} of them guessed by name", file=sys.stderr)
    if listing.problems:
        unread = counted(len(listing.problems), "record")
        say(f"{unread} not read: {printable(listing.problems[0])}", sys.stderr)
    return 1 if listing.problems and not listing.was_read else 0


def _parser() -> OptionParser:
    parser = OptionParser(
        prog="turnwise tools",
        description="Lists the tools of logs and eval cases, with their effects and the source of that "
        "information, as JSON for the config.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "log", nargs="+", metavar="LOG", help="logs or eval cases: files, directories or globs"
    )
    add_plugin_argument(parser)
    parser.add_argument("--input_format", default=AUTO, metavar="FORMAT", help=format_help())
    parser.add_argument(
        "--eval_cases", nargs="+", default=[], metavar="PATH", help="eval cases whose tools are listed too"
    )
    parser.add_argument("--config", metavar="FILE", help="config whose `tools` take precedence")
    return parser


def _text(tools: dict[str, ToolEffect]) -> str:
    """Returns the tools by name as JSON, one per line, with glob characters in names escaped."""
    lines = [
        f"    {_json(glob.escape(name))}: {_json(_setting(tool))}" for name, tool in sorted(tools.items())
    ]
    return '{\n  "tools": {\n' + ",\n".join(lines) + "\n  }\n}" if lines else '{"tools": {}}'


def _json(value: str | JsonObject) -> str:
    return printable(json.dumps(value, ensure_ascii=False), sys.maxsize)


def _setting(tool: ToolEffect) -> JsonObject:
    """Returns the config entry of a tool; only its effect and source if it changes nothing."""
    setting = {"effect": tool.effect, "source": tool.source}
    return setting if tool.effect == "read" else {**tool._asdict()}


def _alone(found: Conversation | ConversationEvent | ValueError) -> Conversation | ValueError:
    """Returns what one event holds by itself."""
    if not isinstance(found, ConversationEvent):
        return found
    try:
        return join_events(found.session_id or found.group, [found])
    except ValueError as error:
        return error


class _ToolCollector:
    """Collects tools. A declared effect takes precedence over a guess."""

    def __init__(self, settings: ToolSettings, logs: LogReader, cases: CaseReader) -> None:
        self._settings, self._logs, self._cases = settings, logs, cases
        self.tools: dict[str, ToolEffect] = {}
        self.problems: list[str] = []
        self.was_read = False

    def add(self, record: Record) -> None:
        """Adds the tools of a record of logs or of eval cases; raises ValueError if it is neither."""
        try:
            found = self._logs.read(record)
        except ValueError as error:
            self._add_cases(record, error)
            return
        for conversation in self._good(map(_alone, found)):
            case = inline_case(conversation)
            catalog = conversation_tools(self._settings, conversation, case)
            self._add(catalog, [*_calls_made(conversation), *_calls_expected(case)])

    def _add_cases(self, record: Record, no_log: ValueError) -> None:
        try:
            found = self._cases.read(record)
        except ValueError:
            raise no_log from None
        for case in self._good(found):
            self._add(ToolCatalog(self._settings, case.tools), _calls_expected(case))

    def _good(self, found: Iterable[T | ValueError]) -> Iterator[T]:
        for one in found:
            if isinstance(one, ValueError):
                self.problems.append(str(one))
            else:
                self.was_read = True
                yield one

    def _add(self, catalog: ToolCatalog, calls: Iterable[ToolCall]) -> None:
        for name in dict.fromkeys([*catalog.declared, *map(called_tool, calls)]):
            tool, known = catalog.effect(name), self.tools.get(name)
            if name and (known is None or (known.is_guess and not tool.is_guess)):
                self.tools[name] = tool


def _calls_made(conversation: Conversation) -> Iterator[ToolCall]:
    for turn in conversation.turns:
        yield from turn.tool_calls
        yield from turn.user_tool_calls


def _calls_expected(case: EvalCase | None) -> Iterator[ToolCall]:
    if case is None:
        return
    yield from case.actions or ()
    yield from case.user_actions
    for turn in case.turns:
        yield from turn.tool_calls or ()


def _each_record(paths: Sequence[str], add: Callable[[Record], None], problems: list[str]) -> None:
    """Passes every record of some files to `add`; adds one line to `problems` for each that fails."""
    for file in [file for path in paths for file in _files(path)]:
        if isinstance(file, Unreadable):
            problems.append(_line(shown_path(file.path), file.error))
            continue
        try:
            for record in _records(file):
                _hand_over(record, add, problems)
        except (OSError, ValueError, EOFError) as error:
            problems.append(_line(file, error))


def _hand_over(record: Record | Failure, add: Callable[[Record], None], problems: list[str]) -> None:
    if isinstance(record, Failure):
        problems.append(record.message)
        return
    try:
        add(record)
    except RAISED as error:
        problems.append(_line(f"{record.source}:{record.position}", error))


def _line(place: str, error: BaseException) -> str:
    return f"{place}: {' '.join(str(error).split())}"


def _records(path: str) -> Iterator[Record | Failure]:
    if "://" in path:
        from turnwise.pipeline.io.files import read_records

        yield from read_records(path, _LARGEST_RECORD)
        return
    with unzipped(open(path, "rb")) as file:
        yield from split_records(path, file, _LARGEST_RECORD)


def _files(path: str) -> list[str | Unreadable]:
    """Returns the files of a path; raises ConfigError if there are none, or of unsupported kinds only."""
    if "://" in path:
        check_places("tools", [path])
        return [path]
    found = sorted(files_at(path), key=lambda seen: seen.path)
    if not found:
        raise ConfigError(f"{path}: no such file, or none that ends in {', '.join(SUFFIXES)}")
    if Path(found[0].path).suffix.lower() in OTHER_SUFFIXES:
        raise ConfigError(f"{found[0].path}: is none of {', '.join(SUFFIXES)}")
    return [seen if isinstance(seen, Unreadable) else seen.path for seen in found]
