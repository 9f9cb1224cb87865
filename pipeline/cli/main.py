"""Implements the command `turnwise`."""

import gc
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from signal import SIGINT, SIGTERM
from typing import TYPE_CHECKING

from turnwise.pipeline.batch.process import end_at_signal, interrupted_status
from turnwise.pipeline.io.terminal import complain, guard_terminal, reader_may_end, say

if TYPE_CHECKING:
    from turnwise.pipeline.cli.run_options import Command


_INTERRUPTED = (interrupted_status(SIGINT), interrupted_status(SIGTERM))
_OPTIONS = """options:
  -h, --help  show this help message and exit
  --version   show the version and exit"""


def run_command() -> None:
    """Runs the command line and exits with its status."""
    end_at_signal()
    guard_terminal()
    # Idle threads of numpy's OpenBLAS spin for 2^28 ticks before they sleep; here for 2^4.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    # Google's libraries announce in ten lines which Python version they support no longer.
    warnings.filterwarnings("ignore", "You are using a .*Python version", FutureWarning)
    status = _in_one_chunk(sys.argv[1:])
    with reader_may_end(sys.stdout):
        sys.stdout.flush()
    if status in _INTERRUPTED:
        # Threads of libraries may still wait for an answer.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    # To collect what exists at the end of the process would only delay it.
    gc.freeze()
    sys.exit(status)


def _in_one_chunk(argv: Sequence[str]) -> int:
    """Runs one command in a frame that is larger than a chunk of Python's stack.

    From Python 3.11 on, a chunk of 16 kB is freed as soon as the calls in it have returned, so that imports
    allocate one thousands of times. A frame of 264 kB gets a chunk of 512 kB; its calls use the rest of it.
    """
    return main(argv)


_in_one_chunk.__code__ = _in_one_chunk.__code__.replace(co_stacksize=33_000)


def main(argv: Sequence[str]) -> int:
    """Runs one command, and returns its exit status.

    0: done. 1: a gate was missed, or a disk or network failed. 2: usage error. 130, 143: interrupted.
    """
    if not argv or argv[0] in ("-h", "--help"):
        lines = (f"  {name:<12} {text} (turnwise {name} --help)\n" for name, (text, _) in _COMMANDS.items())
        say(f"usage: turnwise COMMAND [options]\n\ncommands:\n{''.join(lines)}\n{_OPTIONS}")
        return 0 if argv else 2
    if argv[0] == "--version":
        from importlib.metadata import version

        say(version("turnwise"))
        return 0
    # Imported late: signals are handled before the slow import of settings.
    from turnwise.pipeline.settings.options import ending_of

    try:
        status, problem = ending_of(lambda: _run_named(argv[0], argv[1:]))
    except KeyboardInterrupt as error:
        status, problem = interrupted_status(getattr(error, "number", SIGINT)), str(error) or "interrupted"
    if problem:
        complain(problem)
    return status


def _run_named(name: str, argv: Sequence[str]) -> int:
    if name not in _COMMANDS:
        from turnwise.schemas.config import ConfigError

        raise ConfigError(f"unknown command {name} (commands: {', '.join(_COMMANDS)})")
    _, command = _COMMANDS[name]
    if isinstance(command, tuple):
        with _without_collector():
            command = getattr(import_module(f"turnwise.pipeline.cli.{command[0]}"), command[1])
    return command(argv)


def _run(argv: Sequence[str]) -> int:
    if "-h" in argv or "--help" in argv:
        from turnwise.pipeline.cli.arguments import PLUGIN, command_parser
        from turnwise.pipeline.settings.options import OptionParser

        OptionParser([PLUGIN], add_help=False).parse_known_args(argv)  # loads plugins, which the help lists
        command_parser().print_help()
        return 0
    # gRPC logs closed connections to the terminal.
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    with _without_collector():
        from turnwise.pipeline.cli.run_options import run_dates

        # To enable the collector here would begin a collection of all that was imported.
        return run_dates(argv, _run_once)


def _run_once(argv: Sequence[str]) -> int:
    with _without_collector():
        from turnwise.pipeline.batch.run import run
        from turnwise.pipeline.cli.run_options import other_files_text, parse_options

        settings, options = parse_options(argv)
        # Looked for before the run, which may write files there; a usage error stays one line.
        others = other_files_text(settings)
        if not settings.is_streaming:
            status = run(settings, options)
        elif settings.is_distributed:
            from turnwise.pipeline.streaming.beam import run_distributed

            status = run_distributed(settings, options)
        else:
            from turnwise.pipeline.streaming.local.run import run_stream

            status = run_stream(settings)
        if others:
            complain(others)
        return status


@contextmanager
def _without_collector() -> Iterator[None]:
    """Disables the garbage collector, and restores it in the end as it was.

    Modules and the graph exist until the end: there is nothing to collect while they are created. The run
    itself enables the collector, freezes what exists, and makes collections rare.
    """
    threshold = gc.get_threshold()
    gc.disable()
    try:
        yield
    finally:
        # All that exists becomes old, so that no collection begins here. A graph that stayed frozen would
        # never be freed in a process that runs several.
        gc.freeze()
        gc.unfreeze()
        gc.set_threshold(*threshold)
        gc.enable()


def _serve(argv: Sequence[str]) -> int:
    from turnwise.pipeline.service.serve import parse_serve_options
    from turnwise.pipeline.settings.options import check_extra

    options = parse_serve_options(argv)
    if options is None:
        return 0
    check_extra("turnwise serve", "turnwise[store]")
    from turnwise.pipeline.service.rest import serve

    return serve(options)


_COMMANDS: "dict[str, tuple[str, Command | tuple[str, str]]]" = {
    "run": ("score recorded conversations", _run),
    "compare": ("say whether one version is better than another", ("decisions", "compare_runs")),
    "report": (
        "write one HTML file with the verdicts and conversations of runs",
        ("decisions", "report_runs"),
    ),
    "gate": ("decide by rules whether a finished run passes", ("decisions", "gate")),
    "status": ("say how a finished run ended, with its exit status", ("decisions", "status_of_run")),
    "calibrate": ("hold criteria against human labels", ("decisions", "calibrate_run")),
    "labels": ("choose what to label, and merge labels of several people", ("decisions", "manage_labels")),
    "judge-check": ("say how stable the verdicts of a judge are", ("tools", "check_judge_verdicts")),
    "inspect": ("say what files hold, and what could be scored", ("tools", "inspect_files")),
    "convert": ("write logs or eval cases in another format", ("tools", "convert")),
    "cases": ("make eval cases of recorded conversations", ("tools", "make_cases")),
    "tools": ("list the tools of logs and their effects", ("tools", "list_tools")),
    "serve": ("serve a store of evaluations and results over MCP and REST", _serve),
    "store": ("look after a store", ("store", "look_after_store")),
}
"""Name -> help, and the command, or the module and name of one that is imported when it is called."""
