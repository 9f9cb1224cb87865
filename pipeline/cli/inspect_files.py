"""Implements `turnwise inspect`: what files hold, and what of it could be scored. Without Beam."""

import json
import shutil
import sys
from collections.abc import Iterable, Sequence

import msgspec

from turnwise.pipeline.cli.arguments import add_reading_arguments
from turnwise.pipeline.inspection.suggestion import suggest_mapping
from turnwise.pipeline.io.files import JoinedEvents, OpenedFile, Read, other_files, read_files, shown_path
from turnwise.pipeline.io.terminal import counted, printable, say
from turnwise.pipeline.report.inspection import inspection_text
from turnwise.pipeline.settings.extras import check_places
from turnwise.pipeline.settings.options import OptionParser
from turnwise.pipeline.settings.run import MAX_RECORD_BYTES, read_config
from turnwise.schemas.config import EvalConfig
from turnwise.schemas.inspection import FileInspection, Inspection
from turnwise.schemas.registry import load_plugins
from turnwise.schemas.score import Failure
from turnwise.transforms.criteria.base import Criterion
from turnwise.transforms.formats.reading import AnyReader
from turnwise.transforms.formats.registry import check_log_format
from turnwise.transforms.scoring.config import build_criteria
from turnwise.transforms.tools.inspection import FileCollector, all_criteria

_WIDTH = 120
_NO_CALLS = (
    "it names no calls, which then count as unknown; if the agent has no tools, add tool_calls: `[]` to it"
)


def inspect_files(argv: Sequence[str]) -> int:
    """Prints what files hold, and which criteria could score it.

    Returns:
        Exit status: 0; 1 if a file holds nothing, or something in it could not be read.

    Raises:
        ConfigError: An option, the config or a path is wrong.
    """
    options = inspect_parser().parse_args(argv)
    load_plugins(options.plugin)
    check_log_format(options.input_format)
    check_places("inspect", options.path)
    config = read_config(options.config)
    if options.suggest:
        return _suggest(options.path, AnyReader(options.input_format, config), config)
    criteria = all_criteria(build_criteria(config) if options.config else ())
    reader = AnyReader(options.input_format, config)
    reads = read_files("inspect", options.path, reader, MAX_RECORD_BYTES)
    found = Inspection(_collected(reads, criteria), other_files(options.path))
    if options.json:
        say(msgspec.json.format(msgspec.json.encode(found)).decode())
    else:
        say(inspection_text(found, shutil.get_terminal_size((_WIDTH, 24)).columns))
    return 0 if found.is_read else 1


def inspect_parser() -> OptionParser:
    """Returns the parser of `turnwise inspect`."""
    parser = OptionParser(
        prog="turnwise inspect",
        description="Says of files what they hold: format, conversations, turns, calls, what could not be "
        "read and why, an example, and which criteria could score it. Exit status 1 if a file holds nothing, "
        "or something in it could not be read.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "path", nargs="+", metavar="PATH", help="logs or eval cases: files, directories or globs"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON document instead of a table")
    parser.add_argument(
        "--suggest",
        action="store_true",
        help="propose the config's mapping for the first record that no format fits, and say what it reads",
    )
    add_reading_arguments(parser, "config: its criteria are tried with their fields, others as default")
    return parser


def _collected(reads: Iterable[Read], criteria: Sequence[Criterion]) -> list[FileInspection]:
    files: dict[str, FileCollector] = {}
    current = FileCollector("", criteria)
    for read in reads:
        if isinstance(read, OpenedFile):
            current = files[read.path] = FileCollector(shown_path(read.path), criteria)
            if read.failure is not None:
                current.add_failure(read.failure)
        elif isinstance(read, JoinedEvents):
            for one in read.found:
                if isinstance(one, Failure):
                    files[one.source or ""].add_failure(one)
                else:
                    files[read.sources[0]].add_conversation(one)
        else:
            current.add_record(read)
    return [each.inspection for each in files.values()]


def _suggest(paths: Sequence[str], reader: AnyReader, config: EvalConfig) -> int:
    found = suggest_mapping(paths, reader, config)
    if found is None:
        said = "no mapping can be proposed: either a format fits every record, or no key names words of both"
        say(f"{said} a user and an agent", sys.stderr)
        return 1
    say(json.dumps({"mapping": found.mapping.model_dump(exclude_none=True)}, ensure_ascii=False, indent=2))
    read = f"{counted(found.conversations, 'conversation')}, {counted(found.turns, 'turn')}"
    say(f"proposed by names of keys; with it {read} are read, and {found.lost} records are not", sys.stderr)
    if found.unread:
        say(f"not read by it: {', '.join(map(printable, found.unread))}", sys.stderr)
    if not found.has_calls:
        say(_NO_CALLS, sys.stderr)
    return 0 if found.turns and not found.lost else 1
