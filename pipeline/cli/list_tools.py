"""Implements `turnwise tools`: lists the tools of logs and cases as the config's `tools`. Without Beam."""

import glob
import json
import sys
from collections.abc import Iterable, Iterator, Sequence

from turnwise.pipeline.cli.arguments import add_reading_arguments
from turnwise.pipeline.io.files import read_files, whole_items
from turnwise.pipeline.io.terminal import counted, printable, say
from turnwise.pipeline.settings.extras import check_places
from turnwise.pipeline.settings.options import OptionParser
from turnwise.pipeline.settings.run import MAX_RECORD_BYTES, read_config
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import UNKNOWN, Conversation, ToolCall, ToolEffect
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.registry import load_plugins
from turnwise.schemas.score import Failure, IncompleteReadError
from turnwise.transforms.effects.mentions import (
    ToolCatalog,
    ToolSettings,
    called_tool,
    conversation_tools,
    sort_settings,
)
from turnwise.transforms.formats.reading import AnyReader, FoundCase, LoggedConversation
from turnwise.transforms.formats.registry import AUTO, check_log_format
from turnwise.transforms.matching.sample import inline_case


def list_tools(argv: Sequence[str]) -> int:
    """Prints every tool with its effect and the source of that information.

    Returns:
        Exit status: 0, or 1 if nothing could be read, or an input not to its end.

    Raises:
        ConfigError: An option, the config or a path is wrong.
    """
    options = _parser().parse_args(argv)
    load_plugins(options.plugin)
    check_log_format(options.input_format)
    config = read_config(options.config)
    listing = _ToolCollector(sort_settings(config.tools))
    for paths, kind in ((options.log, options.input_format), (options.eval_cases, AUTO)):
        check_places("tools", paths)
        reads = read_files("tools", paths, AnyReader(kind, config), MAX_RECORD_BYTES)
        for item in whole_items(reads):
            listing.add(item)
    say(_text(listing.tools))
    unknown = [name for name, tool in listing.tools.items() if tool.effect == UNKNOWN]
    guessed = sum(tool.is_guess for tool in listing.tools.values()) - len(unknown)
    print(f"{counted(len(listing.tools), 'tool')}, {guessed} of them guessed by name", file=sys.stderr)
    if unknown:
        say(f"unknown, set `effect`: {printable(', '.join(sorted(unknown)))}", sys.stderr)
    if listing.problems:
        unread = counted(len(listing.problems), "record")
        say(f"{unread} not read: {printable(listing.problems[0])}", sys.stderr)
    return 1 if listing.is_cut or (listing.problems and not listing.was_read) else 0


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
    parser.add_argument(
        "--eval_cases", nargs="+", default=[], metavar="PATH", help="eval cases whose tools are listed too"
    )
    add_reading_arguments(parser, "config whose `tools` take precedence")
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
    """Returns the config entry of a tool; of one that is not known to change something, effect and source."""
    setting: JsonObject = {"effect": None if tool.effect == UNKNOWN else tool.effect, "source": tool.source}
    return setting if tool.effect in ("read", UNKNOWN) else {**tool._asdict()}


class _ToolCollector:
    """Collects tools. A declared effect takes precedence over a guess, and that over an unknown one."""

    def __init__(self, settings: ToolSettings) -> None:
        self._settings = settings
        self.tools: dict[str, ToolEffect] = {}
        self.problems: list[str] = []
        self.was_read = self.is_cut = False

    def add(self, item: LoggedConversation | FoundCase | Failure) -> None:
        """Adds the tools of a conversation or case, or a line about what could not be read; files first."""
        if isinstance(item, Failure):
            self.is_cut |= item.error_type == IncompleteReadError.__name__
            if item.position:
                self.problems.append(f"{item.source}:{item.position}: {item.message}")
            else:
                self.problems.insert(0, f"{item.source}: {item.message}")
            return
        self.was_read = True
        if isinstance(item, FoundCase):
            self._add(ToolCatalog(self._settings, item.case.tools), _calls_expected(item.case))
            return
        case = inline_case(item.conversation)
        catalog = conversation_tools(self._settings, item.conversation, case)
        self._add(catalog, [*_calls_made(item.conversation), *_calls_expected(case)])

    def _add(self, catalog: ToolCatalog, calls: Iterable[ToolCall]) -> None:
        for name in dict.fromkeys([*catalog.declared, *map(called_tool, calls)]):
            tool, known = catalog.effect(name), self.tools.get(name)
            if name and (known is None or _says_more(tool, known)):
                self.tools[name] = tool


def _says_more(tool: ToolEffect, known: ToolEffect) -> bool:
    if not known.is_guess:
        return False
    return not tool.is_guess or (known.effect == UNKNOWN and tool.effect != UNKNOWN)


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
