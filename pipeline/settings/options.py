"""Declares every option, and checks that the packages and credentials it needs are there."""

import argparse
import logging
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from functools import cache, partial
from importlib.util import find_spec
from itertools import takewhile
from math import inf
from pathlib import Path
from traceback import extract_tb
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias
from urllib.parse import quote

from msgspec import Struct, convert, field

from turnwise.pipeline.io.terminal import say
from turnwise.schemas.config import ConfigError, MatchCasesBy
from turnwise.schemas.jsonio import did_you_mean, is_local, is_sqlite_url, is_store_url, shown_url
from turnwise.schemas.registry import error_text, load_plugins
from turnwise.schemas.run import StreamRules

FORMS = "bigquery://PROJECT/DATASET/TABLE[?partition=DATE], bigquery://PROJECT?query=SQL, bigquery://PROJECT?file=FILE.sql"
_SCHEME = "bigquery://"
PROJECT_ADDRESS = r"bigquery://(?P<project>[a-z][a-z0-9.:-]{4,60}[a-z0-9])"
_TABLE = re.compile(
    PROJECT_ADDRESS + r"/(?P<dataset>\w+)/(?P<table>[\w -]+)(?:\?partition=(?P<partition>[^&]*))?"
)
_QUERY = re.compile(PROJECT_ADDRESS + r"\?(?P<kind>query|file)=(?P<text>.*)", re.DOTALL)
_SHOWN = 60


class RowsAddress(NamedTuple):
    """Rows in BigQuery: of a table (PROJECT.DATASET.TABLE) or of one partition of it, or of a query in SQL.

    The project pays; `shown` is the address in one line, for messages and failures.
    """

    shown: str
    project: str
    table: str = ""
    partition: date | None = None
    query: str = ""


def is_bigquery(path: str) -> bool:
    """Returns whether a path is the address of rows in BigQuery."""
    return path.startswith(_SCHEME)


def with_query_text(path: str) -> str:
    """Returns an address with the SQL of its file in place of the file; raises ConfigError."""
    match = _QUERY.fullmatch(path)
    if not match or match["kind"] == "query":
        return path
    try:
        text = Path(match["text"]).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise ConfigError(f"{path}: {reason}") from None
    return f"{_SCHEME}{match['project']}?query={text}"


def parse_address(path: str) -> RowsAddress:
    """Returns the parts of an address (`?query=` ends it: SQL without escapes); raises ConfigError."""
    if match := _TABLE.fullmatch(path):
        table = f"{match['project']}.{match['dataset']}.{match['table']}"
        try:
            day = None if match["partition"] is None else date.fromisoformat(match["partition"])
        except ValueError:
            raise ConfigError(f"{path}: its partition is no ISO date, such as 2026-11-21") from None
        return RowsAddress(path, match["project"], table, day)
    match = _QUERY.fullmatch(with_query_text(path))
    if not match or not match["text"].strip():
        raise ConfigError(f"{shown_address(path)}: its form is one of {FORMS}")
    return RowsAddress(shown_address(path), match["project"], query=match["text"].strip().rstrip(";"))


def shown_address(path: str) -> str:
    """Returns an address in one line; a long query is cut."""
    start, mark, query = " ".join(path.split()).partition("?query=")
    return f"{start}{mark}{query[:_SHOWN]}{'...' if len(query) > _SHOWN else ''}"


class StreamSettings(Struct, frozen=True):
    """The settings of a stream.

    Attributes:
        max_run_time: Seconds after which it ends; None: no limit.
        stop_after: Conversations after which it ends; None: no limit.
        alerts: URI of the sink for alerts; None: a file in the output directory, of a batch `run.json`.
        timestamp_attribute: Attribute of Pub/Sub messages that holds the event time.
        refresh_cases: Seconds between two looks for changed eval cases.
    """

    rules: StreamRules = field(default_factory=StreamRules)
    max_run_time: float | None = None
    stop_after: int | None = None
    alerts: str | None = None
    timestamp_attribute: str | None = None
    refresh_cases: float = 60.0


STREAM_OPTIONS = (*StreamRules.__struct_fields__, *StreamSettings.__struct_fields__[1:])
"""Names of the options of a stream."""
_BOUNDED = (*StreamRules.__struct_fields__, "refresh_cases")
_SHORTEST, _LONGEST = 0.1, 1e9
_ZERO_ALLOWED = ("allowed_lateness",)


def check_stream(given: Mapping[str, float | str], is_streaming: bool) -> StreamSettings:
    """Converts the given options of a stream; a batch may have `--alerts` only. Raises ConfigError."""
    of_streams = [name for name in given if name != "alerts"]
    if of_streams and not is_streaming:
        raise ConfigError(f"--{of_streams[0]} is an option of a stream; add --streaming")
    for name, value in given.items():
        if isinstance(value, str):
            continue
        if not (0 < value < inf or (value == 0 and name in _ZERO_ALLOWED)):
            raise ConfigError(f"--{name} must be a number above 0, not {value}")
        if (name in _BOUNDED and not (name in _ZERO_ALLOWED or value >= _SHORTEST)) or value > _LONGEST:
            raise ConfigError(f"--{name} must lie between {_SHORTEST:g} and {_LONGEST:g}, not {value:g}")
    return convert({**given, "rules": given}, StreamSettings)


DEFAULT_OUTPUT_FORMAT = "jsonl"


class RawJudgeOptions(Struct, frozen=True, kw_only=True):
    """What is said of the judge beside the config."""

    judge: str | None = None
    judge_model: str | None = None
    judge_concurrency: int = 64
    judge_cache: str | None = None
    sample_rate: float = 1.0
    estimate: bool = False


EmptyDates: TypeAlias = Literal["fail", "warn", "ok"]
"""What a date is that has neither input nor a run."""


class CommonOptions(Struct, frozen=True, kw_only=True):
    """Options of a run that its settings hold as they were given.

    Attributes:
        max_failure_ratio: Largest share of rejected records and conversations, 0..1; None: half of them.
        max_bigquery_gb: GiB that BigQuery may read for the input; None: no limit.
        baseline: Output directory of the run that is compared with, or its address in a store (URL#NAME);
            `{date}` in it and `previous` are replaced when the run begins. None: there is none.
        candidate: App version of the run that is compared; None: the last.
        date: The run's date, as ISO text; None: `--date` is not given.
    """

    input_format: str = "auto"
    output: str = ""
    output_format: str = DEFAULT_OUTPUT_FORMAT
    overwrite: bool = False
    max_failure_ratio: float | None = None
    max_bigquery_gb: float | None = None
    baseline: str | None = None
    candidate: str | None = None
    date: str | None = None


class RawOptions(CommonOptions, frozen=True, kw_only=True):
    """turnwise's own options as the command line gave them."""

    judging: RawJudgeOptions
    input: Sequence[str] = ()
    eval_cases: Sequence[str] = ()
    match_cases_by: MatchCasesBy | None = None
    config: str | None = None
    max_record_mb: float
    run_id: str | None = None
    fail_on: Sequence[str] = ()
    store: str | None = None
    store_app: str | None = None
    scores_to: str | None = None
    no_transcripts: bool = False
    verbose: bool = False
    lookback: int | None = None
    empty_dates: EmptyDates = "fail"
    plugin: Sequence[str] = ()
    workers: int | None = None
    redact: Sequence[str] = ()
    judge_batch: bool = False
    judge_batch_wait: float | None = None


class HelpShown(SystemExit):
    """`--help` was printed, so that there is nothing left to do."""


class OptionParser(argparse.ArgumentParser):
    """Takes no abbreviations, and raises ConfigError for a wrong option instead of printing the usage."""

    def __init__(self, options: "OptionRows" = (), **named: Any) -> None:
        super().__init__(allow_abbrev=False, **named)
        add_options(self, options)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Loads the plugins; raises ConfigError for an option of one value that is given twice."""
        words = [word.partition("=")[0] for word in takewhile(lambda word: word != "--", args)]
        for word in words:
            action = self._option_string_actions.get(word)
            # Values are not shown: addresses may hold passwords.
            if type(action) is argparse._StoreAction and words.count(word) > 1:
                second = "; a second store or warehouse needs a second command" if word == "--store" else ""
                raise ConfigError(f"{word} is given twice, and takes one value{second}")
        parsed = super().parse_known_args(args, namespace)
        load_plugins(getattr(parsed[0], "plugin", ()))  # before a name is looked up
        return parsed

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parses a command line; raises ConfigError also for what no option takes."""
        parsed, unknown = self.parse_known_args(args, namespace)
        for word in unknown[:1]:
            name, what = word.partition("=")[0], f"unexpected argument {word}"
            if word.startswith("-") and word != "--":
                what = f"unknown option {name}{did_you_mean(name, self._option_string_actions)}"
            raise ConfigError(f"{what}; {self._form}")
        return parsed

    @property
    def _form(self) -> str:
        """The form of the command: what it needs, with its arguments first."""
        if self.usage is not None:
            return f"the form is {self.usage}"
        needed = [action for action in self._actions if action.required or not action.option_strings]
        arguments = self._get_formatter()._format_args
        texts = [
            " ".join((*action.option_strings[-1:], arguments(action, action.dest.upper())))
            for action in sorted(needed, key=lambda action: bool(action.option_strings))
        ]
        return f"the form is {' '.join((self.prog, *texts, '[options]'))}"

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Ends the command after its help by HelpShown; `error` handles errors."""
        raise HelpShown(status)

    def error(self, message: str) -> None:  # type: ignore[override]
        """Raises ConfigError."""
        if needed := message.partition("arguments are required: ")[2]:
            raise ConfigError(f"missing: {needed}; {self._form}")
        text = message.removeprefix("argument ").replace("expected one argument", "needs a value")
        raise ConfigError(text.replace("expected at least one argument", "needs at least one value"))


class SinkPlace(NamedTuple):
    """Where a run writes to, beside its files: an address, and what is known of the run.

    Attributes:
        app: `--store_app`; "": not given.
        create_time: When it was started, as RFC 3339 text.
        date: Its date, or else the day of its start, as ISO text.
        output: `--output`, which every worker reaches.
        is_new: Whether a stream begins, which no earlier process has begun.
    """

    url: str
    app: str
    run_id: str
    create_time: str
    date: str
    output: str
    is_streaming: bool = False
    is_new: bool = False
    option: str = "--store"


STORE = {"metavar": "URL"}
OptionRows = Iterable[tuple[str, Mapping[str, Any], str]]
"""Name, how it is parsed, and help of each option."""
FLAG = {"action": "store_true"}
FORMAT = {"choices": ("text", "json"), "default": "text"}


class Subcommand(NamedTuple):
    """A subcommand: help line, options, what runs it, end of its help. What is slow, `run` imports late."""

    summary: str
    options: OptionRows
    run: Callable[[argparse.Namespace], int]
    epilog: str = ""


def subcommand_parser(command: str, name: str, subcommand: Subcommand) -> OptionParser:
    """Returns the parser of a subcommand of a command."""
    about = f"{subcommand.summary[0].upper()}{subcommand.summary[1:]}."
    prog = f"turnwise {command} {name}"
    return OptionParser(subcommand.options, prog=prog, description=about, epilog=subcommand.epilog)


def run_subcommand(command: str, subcommands: Mapping[str, Subcommand], argv: Sequence[str]) -> int:
    """Runs a subcommand of a command, and returns its exit status; raises ConfigError."""
    if not argv or argv[0] in ("-h", "--help"):
        lines = "\n".join(f"  {name:<10} {declared.summary}" for name, declared in subcommands.items())
        say(f"usage: turnwise {command} COMMAND [options]\n\ncommands:\n{lines}")
        return 0 if argv else 2
    if argv[0] not in subcommands:
        raise ConfigError(f"unknown command {command} {argv[0]} (commands: {', '.join(subcommands)})")
    subcommand = subcommands[argv[0]]
    return subcommand.run(subcommand_parser(command, argv[0], subcommand).parse_args(argv[1:]))


def add_options(group: argparse._ActionsContainer, options: OptionRows) -> None:
    """Adds options to a parser."""
    for name, how, text in options:
        group.add_argument(name, help=text, **how)


class Ending(NamedTuple):
    """The end of a command.

    Attributes:
        status: 0: done. 1: a gate was missed, or a disk or network failed. 2: usage error.
        problem: Why it could not go on, in one line; "": it did.
    """

    status: int
    problem: str = ""


def ending_of(command: Callable[[], int]) -> Ending:
    """Runs a command and returns how it ended; a signal's KeyboardInterrupt passes."""
    try:
        return Ending(command())
    except ConfigError as error:
        return Ending(2, str(error))
    except OSError as error:
        return Ending(1, " ".join(str(error).split()))
    except HelpShown:
        return Ending(0)
    except (SystemExit, GeneratorExit) as error:
        origin = extract_tb(error.__traceback__)[-1]  # such as a plugin that ended the process
        return Ending(1, f"{origin.filename}:{origin.lineno}: {error_text(error)}")


# Optional packages and credentials.

_MODULES = {
    "turnwise[gcp]": (
        *("google.cloud.storage", "google.cloud.pubsub_v1"),
        *("google.cloud.bigquery", "google.cloud.bigquery_storage"),
    ),
    "turnwise[kafka]": ("confluent_kafka",),
    "turnwise[otlp]": ("opentelemetry.proto", "starlette", "uvicorn"),
    "turnwise[postgres]": ("sqlalchemy", "psycopg"),
    "turnwise[store]": ("sqlalchemy", "mcp", "starlette", "uvicorn"),
    "apache-beam[aws]": ("boto3",),
    "apache-beam[azure]": ("azure.storage.blob",),
    "apache-beam[hadoop]": ("hdfs",),
    "build": ("build",),
}
_BY_SCHEME = dict(
    gs="turnwise[gcp]", s3="apache-beam[aws]", azfs="apache-beam[azure]", hdfs="apache-beam[hadoop]"
)


def check_extra(what: str, extra: str, *others: str) -> None:
    """Raises ConfigError if a package of an extra (such as `turnwise[gcp]`) is not installed.

    `what` is the option that needs it, `others` modules of the extra that not every user of it needs.
    """
    for module in (*_MODULES[extra], *others):
        with suppress(ModuleNotFoundError):  # a package around it is missing
            if find_spec(module) is not None:
                continue
        raise ConfigError(f"{what}: needs {extra}, which is not installed: pip install '{extra}'")


def check_store(option: str, url: str) -> None:
    """Raises ConfigError if a text is no URL of a store that turnwise reads, or its packages are missing."""
    what = f"{option} {shown_url(url)}"
    if not is_store_url(url):
        scheme, mark, _ = url.partition("://")
        other = f"; this command cannot read {scheme}" if mark else ""
        raise ConfigError(f"{what}: is no URL of a store (sqlite:///FILE, postgresql://...){other}")
    check_extra(what, "turnwise[store]" if is_sqlite_url(url) else "turnwise[postgres]")


_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
HOW_TO = "run `gcloud auth application-default login`, or name a key file in GOOGLE_APPLICATION_CREDENTIALS"
_TOKEN_SECONDS = 5.0
_STORAGE = "gs://"


def check_google(what: str, path: str = "") -> None:
    """Raises ConfigError, in seconds, if this process has no credentials of Google, or they are refused.

    Google's own clients, and Beam's, would try for minutes. `what` needs them, for a path on any filesystem,
    whose package must be installed, or ("") a service.
    """
    if extra := _BY_SCHEME.get(path.partition(":")[0].lower()):
        check_extra(what, extra)
    if path and not path.lower().startswith(_STORAGE):
        return
    host = os.environ.get("STORAGE_EMULATOR_HOST") or "https://storage.googleapis.com"
    try:
        _find_access(host, path[len(_STORAGE) :].partition("/")[0])
    except ConfigError as error:
        raise ConfigError(f"{what}: {error}") from None


@cache
def _find_access(host: str, bucket: str) -> None:
    """Raises ConfigError if there is no access. Only that there is some is remembered."""
    import google.auth
    import requests
    from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError, TransportError
    from google.auth.transport.requests import Request

    cause: Exception | None
    logging.getLogger("google.auth").setLevel(logging.ERROR)  # a missing project is none of ours
    try:
        credentials, _ = google.auth.default(scopes=[_SCOPE])
        if not credentials.valid:
            credentials.refresh(partial(Request(), timeout=_TOKEN_SECONDS))
        return
    except DefaultCredentialsError as error:
        problem, cause = "the credentials cannot be used", error
        if not os.environ.get("GOOGLE_APPLICATION_CREDENTIALS"):
            problem, cause = "no credentials of Google", None
    except TransportError as error:
        problem, cause = "Google's server of tokens cannot be reached", error
    except (GoogleAuthError, OSError, ValueError) as error:
        problem, cause = "the credentials are refused", error
    # A bucket that is public, or of an emulator, can be listed without credentials.
    url = f"{host}/storage/v1/b/{quote(bucket, safe='')}/o?maxResults=1"
    with suppress(requests.RequestException):
        if bucket and requests.get(url, timeout=_TOKEN_SECONDS, allow_redirects=False).ok:
            return
    if cause is not None:
        problem += f" ({' '.join(str(cause.args[0] if cause.args else cause).split())[:160]})"
    raise ConfigError(f"{problem}; {HOW_TO}")


def check_places(option: str, paths: Sequence[str]) -> None:
    """Raises ConfigError if a package for the filesystems or stores of an option is missing."""
    for path in paths:
        if is_bigquery(path) and option != "--output":
            try:
                address = parse_address(path)
            except ConfigError as error:
                raise ConfigError(f"{option} {error}") from None
            check_extra(f"{option} {address.shown}", "turnwise[gcp]")
        elif is_store_url(path):
            check_store(option, path)
        elif not is_local(path) and (extra := _BY_SCHEME.get(path.partition(":")[0].lower())):
            check_extra(f"{option} {path}", extra)
        elif not is_local(path):
            from apache_beam.io.filesystems import FileSystems

            try:
                FileSystems.get_filesystem(path)
            except ValueError:
                known = ", ".join(f"{scheme}://" for scheme in _BY_SCHEME)
                step = f"use a path without a scheme, or {known}"
                raise ConfigError(f"{option} {path}: unknown file system ({step})") from None
