"""The run that results and rows belong to, and the document about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from turnwise.schemas.input_files import InputFiles
from turnwise.schemas.tools import ToolSetting
from turnwise.schemas.values import JsonObject


@dataclass(frozen=True, slots=True)
class RunInfo:
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
    tools: Mapping[str, ToolSetting] = field(default_factory=dict)
    judge: str = ""
    transcripts: bool = True


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
        exit_status: 0: done; 1: a gate was missed.
        max_failure_ratio: Largest share of lost records and conversations, 0..1; None: no limit.
        date: The run's date, as ISO text; None: it has none.
        input_files: The input files when the run started; None: not all inputs are files, or it is unknown.
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
    exit_status: int
    max_failure_ratio: float | None = None
    date: str | None = None
    input_files: InputFiles | None = None
