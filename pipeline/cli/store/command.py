"""Implements `turnwise store`: looks after a store by its subcommands. Without Beam."""

from collections.abc import Sequence

from turnwise.pipeline.cli.store import DELETE
from turnwise.pipeline.cli.store.base import StoreCommand
from turnwise.pipeline.cli.store.check import CHECK
from turnwise.pipeline.cli.store.copies import BACKUP
from turnwise.pipeline.cli.store.prune import PRUNE
from turnwise.pipeline.cli.store.runs import RUNS
from turnwise.pipeline.io.terminal import say
from turnwise.pipeline.settings.extras import check_store
from turnwise.pipeline.settings.options import OptionParser
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import is_store_url, shown_url

_COMMANDS: tuple[StoreCommand, ...] = (RUNS, PRUNE, DELETE, BACKUP, CHECK)
COMMANDS = {each.name: each for each in _COMMANDS}
"""Name -> subcommand, in the order of the help."""


def look_after_store(argv: Sequence[str]) -> int:
    """Runs a subcommand.

    Returns:
        Its exit status.

    Raises:
        ConfigError: There is no such subcommand, or an option is wrong or missing.
    """
    if not argv or argv[0] in ("-h", "--help"):
        say(_usage())
        return 0 if argv else 2
    if argv[0] not in COMMANDS:
        raise ConfigError(f"unknown command store {argv[0]} (commands: {', '.join(COMMANDS)})")
    options = store_parser(argv[0]).parse_args(argv[1:])
    if not is_store_url(options.store):
        shown = shown_url(options.store)
        raise ConfigError(f"--store {shown}: is no URL of a store (sqlite:///FILE, postgresql://...)")
    check_store("--store", options.store)
    return COMMANDS[argv[0]].run(options)


def store_parser(name: str) -> OptionParser:
    """Returns the parser of a subcommand."""
    command = COMMANDS[name]
    parser = OptionParser(
        prog=f"turnwise store {name}",
        description=f"{command.summary[0].upper()}{command.summary[1:]}.",
        epilog=command.epilog,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--store", required=True, metavar="URL", help="sqlite:///FILE or postgresql://... (required)"
    )
    command.add_arguments(parser)
    return parser


def _usage() -> str:
    lines = "\n".join(f"  {each.name:<10} {each.summary}" for each in COMMANDS.values())
    return f"usage: turnwise store COMMAND --store URL [options]\n\ncommands:\n{lines}"
