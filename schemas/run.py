"""The run that results and rows belong to, and the document about it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

import msgspec

from turnwise.schemas.input_files import InputFiles
from turnwise.schemas.tools import ToolSetting
from turnwise.schemas.values import JsonObject

RUN_FILE = "run.json"


def time_text(moment: datetime) -> str:
    """Returns a time in UTC as RFC 3339, in milliseconds."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class RunInfo(msgspec.Struct, frozen=True):
    """The run that results and rows belong to.

    Attributes:
        run_id: Id of the run.
        create_time: Start of the run, RFC 3339 in UTC.
        slices: Names of the slices of the metrics (`turnwise.transforms.metrics.slices`).
        tools: Settings of tools in the config.
        judge: Digest of the judge's settings that decide its answers; "": no judge is configured.
        transcripts: Whether the rows of conversations hold what was said and called.
    """

    run_id: str
    create_time: str
    slices: tuple[str, ...] = ()
    tools: Mapping[str, ToolSetting] = msgspec.field(default_factory=dict)
    judge: str = ""
    transcripts: bool = True


class RunFile(msgspec.Struct, frozen=True):
    """What `run.json` says of a file of a run.

    Attributes:
        rows: Number of its rows; 1 for a document.
        bytes: Its size.
    """

    rows: int
    bytes: int


class RunDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Content of `run.json`, as far as programs read it.

    Attributes:
        run_id: Id of the run.
        create_time: Start of the run, RFC 3339 in UTC.
        input: Paths and addresses of the logs.
        output_format: Format of the tables, which is the suffix of their files.
        config: The parsed config with its defaults.
        criteria: Name of a criterion -> its parameters with their defaults.
        versions: Package -> version.
        counts: Numbers of what was read, scored and lost.
        judge: Which judge was asked, and its usage.
        problems: Why the run failed its gates, one line each.
        exit_status: 0: done; 1: a gate was missed, as `problems` say.
        max_failure_ratio: Largest share of lost records and conversations, 0..1; None: no limit.
        date: The run's date, as ISO text; None: it has none.
        input_files: The input files when the run started; None: not all inputs are files, or it is unknown.
        end_time: When the run ended, RFC 3339 in UTC; "": written by an earlier version.
        folder: Folder in the output directory that holds the tables; ".": the directory itself.
        files: Table -> its files by name; None: they are not named (a stream, or an earlier version).
    """

    run_id: str
    create_time: str
    input: list[str]
    output_format: str
    config: JsonObject
    criteria: dict[str, JsonObject]
    versions: dict[str, str]
    counts: JsonObject
    judge: JsonObject
    problems: list[str]
    exit_status: Literal[0, 1]
    max_failure_ratio: float | None = None
    date: str | None = None
    input_files: InputFiles | None = None
    end_time: str = ""
    folder: str = "."
    files: dict[str, dict[str, RunFile]] | None = None

    def __post_init__(self) -> None:
        if self.problems and self.exit_status == 0:
            raise ValueError("`problems` are stated, and `exit_status` is 0")
