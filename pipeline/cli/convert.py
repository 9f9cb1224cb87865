"""Implements `turnwise convert`: writes logs or eval cases in another format. Without Beam."""

import shutil
from collections.abc import Sequence

import msgspec

from turnwise.pipeline.cli.arguments import add_reading_arguments
from turnwise.pipeline.conversion.candidates import is_run
from turnwise.pipeline.conversion.convert import convert_items
from turnwise.pipeline.conversion.output import check_new_file
from turnwise.pipeline.conversion.text import conversion_text
from turnwise.pipeline.io.files import read_files, whole_items
from turnwise.pipeline.io.terminal import say
from turnwise.pipeline.report.conversion import convert_run
from turnwise.pipeline.settings.extras import check_places
from turnwise.pipeline.settings.options import OptionParser
from turnwise.pipeline.settings.run import MAX_RECORD_BYTES, read_config
from turnwise.schemas.config import ConfigError
from turnwise.schemas.inspection import Conversion
from turnwise.schemas.registry import load_plugins
from turnwise.transforms.formats.reading import AnyReader
from turnwise.transforms.formats.registry import check_log_format
from turnwise.transforms.tools.conversion import TARGETS

_WIDTH = 120


def convert(argv: Sequence[str]) -> int:
    """Writes logs or eval cases in another format, and says what that cannot hold.

    Returns:
        Exit status: 0; 1 if something was not converted, or there was nothing.

    Raises:
        ConfigError: An option, the config or a path is wrong.
    """
    options = convert_parser().parse_args(argv)
    load_plugins(options.plugin)
    check_log_format(options.input_format)
    if options.to is None:
        raise ConfigError(f"--to is missing: name one of {', '.join(sorted(TARGETS))}")
    target = TARGETS.find(options.to, "--to ")
    check_places("convert", options.input)
    check_new_file(options.output, target)
    runs = [path for path in options.input if is_run(path)]
    if runs and len(options.input) > 1:
        raise ConfigError(f"{runs[0]}: is the output directory of a run; it is converted alone")
    if runs:
        return report(convert_run(runs[0], target, options.output), options.json)
    reader = AnyReader(options.input_format, read_config(options.config))
    reads = read_files("convert", options.input, reader, MAX_RECORD_BYTES)
    done = convert_items(whole_items(reads), target, options.output)
    return report(done, options.json)


def report(done: Conversion, as_json: bool) -> int:
    """Prints what was done, and returns the exit status."""
    if as_json:
        say(msgspec.json.format(msgspec.json.encode(done)).decode())
    else:
        say(conversion_text(done, shutil.get_terminal_size((_WIDTH, 24)).columns))
    return 0 if done.written and not done.lost_count else 1


def convert_parser() -> OptionParser:
    """Returns the parser of `turnwise convert`."""
    parser = OptionParser(
        prog="turnwise convert",
        description="Writes logs or eval cases in another format, and lists what that format cannot hold: "
        "everything that is written is read back and compared. Exit status 1 if something was not converted.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "input", nargs="+", metavar="IN", help="logs or eval cases: files, directories, globs"
    )
    parser.add_argument("output", metavar="OUT", help="the file to write; it must not exist")
    targets = "; ".join(f"{name}: {each.help}" for name, each in sorted(TARGETS.items()))
    parser.add_argument("--to", metavar="FORMAT", help=f"format of OUT: {targets} (required)")
    add_reading_arguments(parser, "config that says how some records are read")
    parser.add_argument("--json", action="store_true", help="print a JSON document instead of text")
    return parser
