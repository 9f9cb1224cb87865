"""The run that results and rows belong to, and the document about it."""

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Literal

import msgspec
from msgspec import Struct

from turnwise.schemas.config import Alert, RedactConfig
from turnwise.schemas.conversation import ToolSetting
from turnwise.schemas.jsonio import JsonObject, listed

_ROUNDED_UP = 1 / 64


class StreamRules(Struct, frozen=True):
    """Durations of a stream, in seconds.

    Attributes:
        session_gap: Gap after which a conversation counts as ended, in event time.
        window: Length of the metrics' windows, in event time.
        allowed_lateness: Time after its end during which a window accepts conversations, and after its
            closing during which a conversation accepts events, in event time.
        pane_every: Interval of an open window's metrics, in whole seconds of processing time.
    """

    session_gap: float = 600.0
    window: float = 3600.0
    allowed_lateness: float = 86_400.0
    pane_every: int = 60

    @property
    def closing_step(self) -> float:
        """Step to which session deadlines are rounded up, so that many close together."""
        return self.session_gap * _ROUNDED_UP

    @property
    def longest_wait(self) -> float:
        """Maximum time between the last event and the closing of a conversation."""
        return self.session_gap + 2 * self.closing_step

    @property
    def window_lateness(self) -> float:
        """Time after its end during which a window accepts changes."""
        # It includes the closing delay of a conversation, and another one at the end of the stream.
        return self.allowed_lateness + 2 * self.longest_wait


class Progress(Struct):
    """Counts of this process so far; `held`: records that wait in open sessions."""

    conversations: int = 0
    turns: int = 0
    held: int = 0


PROGRESS = Progress()


MOST_LISTED = 200
"""Files that are listed one by one."""
_SHOWN = 3


class InputFile(msgspec.Struct, frozen=True, order=True):
    """One file, with the time of its last change, RFC 3339 in UTC."""

    name: str
    size: int
    changed: str


class InputFiles(msgspec.Struct, frozen=True):
    """All files, and a digest over names, sizes and times; `files`: None if more than `MOST_LISTED`."""

    count: int
    bytes: int
    digest: str
    files: list[InputFile] | None


def input_files(files: Iterable[InputFile]) -> InputFiles:
    """Returns what is recorded of files; one that several paths name counts once."""
    ordered = sorted(set(files))
    text = json.dumps([msgspec.structs.astuple(file) for file in ordered])
    digest = blake2b(text.encode(), digest_size=16).hexdigest()
    total = sum(file.size for file in ordered)
    return InputFiles(len(ordered), total, digest, ordered if len(ordered) <= MOST_LISTED else None)


def files_changed(before: InputFiles, now: InputFiles) -> str:
    """Says how files differ from those of an earlier run, in one line; "": they do not."""
    if before.digest == now.digest:
        return ""
    if before.files is None or now.files is None:
        return f"{now.count:,} files of {now.bytes:,} bytes, not those {before.count:,} of {before.bytes:,}"
    old = {file.name: file for file in before.files}
    new = {file.name: file for file in now.files}
    kinds: Mapping[str, list[str]] = {
        "new": [name for name in new if name not in old],
        "changed": [name for name in new if name in old and new[name] != old[name]],
        "gone": [name for name in old if name not in new],
    }
    parts = (f"{len(names)} {kind} ({listed(names, _SHOWN)})" for kind, names in kinds.items() if names)
    return "; ".join(parts)


RUN_FILE = "run.json"


class RunInfo(msgspec.Struct, frozen=True, eq=False):
    """The run that results and rows belong to.

    Attributes:
        create_time: Start of the run, RFC 3339 in UTC.
        slices: Names of the slices of the metrics (`turnwise.transforms.metrics.state`).
        judge: Digest of the judge's settings that decide its answers; "": no judge is configured.
        transcripts: Whether the rows of conversations hold what was said and called.
        redact: What leaves as markers; None: nothing.
    """

    run_id: str
    create_time: str
    slices: tuple[str, ...] = ()
    tools: Mapping[str, ToolSetting] = msgspec.field(default_factory=dict)
    judge: str = ""
    transcripts: bool = True
    redact: RedactConfig | None = None


class RunFile(msgspec.Struct, frozen=True):
    """What `run.json` says of a file of a run: the number of its rows (1 for a document) and bytes."""

    rows: int
    bytes: int


FORMAT_VERSION = 2
"""Of `run.json` and the tables of a run. Increase it with every name that changes its meaning or goes."""


_CHANGE_NO_SCORE = {
    "alerts", "app_version_from", "criteria", "gate", "judge", "live_model_config", "slices",
    "user_simulator_config",
}  # fmt: skip
"""Keys of the config that change no score, or are looked at in detail; the others concern every criterion."""


def scoring_settings(config: JsonObject, criteria: Mapping[str, JsonObject], judge: JsonObject) -> JsonObject:
    """Returns what decides the scores of a run, by what its `run.json` states."""
    deciding = {key: value for key, value in config.items() if key not in _CHANGE_NO_SCORE}
    asked = {key: judge.get(key) for key in ("backend", "model")}
    return {"config": deciding, "criteria": dict(criteria), "judge": asked}


def settings_digest(settings: JsonObject) -> str:
    """Returns a digest of scoring settings: runs with another one were not measured in the same way."""
    return blake2b(json.dumps(settings, sort_keys=True).encode(), digest_size=8).hexdigest()


class RunAlerts(msgspec.Struct, frozen=True):
    """What the alert rules of a batch said.

    Attributes:
        night: Number of this run in the row of those that are compared, from 1; it grows with the dates.
        before: Directory of the run that it was compared with, or `#` and its name in the store; None: none.
        untested: Names of rules that were not tested, and why, one line a reason.
    """

    night: int
    before: str | None
    raised: list[Alert]
    untested: list[str]


def redacted_text(redacted: Mapping[str, int] | None) -> str:
    """Returns what left a run as markers, by kind, as a clause; "": it redacts nothing."""
    if redacted is None:
        return ""
    kinds = ", ".join(f"{kind} {number:,}" for kind, number in redacted.items())
    return f"values that left as markers: {kinds or 'none'}"


class RunDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Content of `run.json`, as far as programs read it.

    Attributes:
        create_time: Start of the run, RFC 3339 in UTC.
        format_version: That of its tables, too; 1: written before versions were stated.
        output_format: Format of the tables, which is the suffix of their files.
        config: The parsed config with its defaults.
        criteria: Name of a criterion -> its parameters with their defaults.
        problems: Why the run failed its gates, one line each.
        exit_status: 0: done; 1: a gate was missed, as `problems` say.
        max_failure_ratio: Largest share of rejected records and conversations, 0..1; None: half of them.
        date: The run's date, as ISO text; None: it has none.
        store: URL of the store that the run wrote into, without a password; None: none.
        redacted: Kind -> values of it that left as markers; None: nothing was redacted.
        alerts: What its alert rules said; None: it has no rule, or is a stream.
        input_files: The input files when the run started; None: not all inputs are files, or it is unknown.
        end_time: When the run ended, RFC 3339 in UTC; "": written by an earlier version.
        folder: Folder in the output directory that holds the tables; ".": the directory itself.
        files: Table -> its files by name; None: they are not named (a stream, or an earlier version).
    """

    run_id: str
    create_time: str
    format_version: int = 1
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
    store: str | None = None
    redacted: dict[str, int] | None = None
    alerts: RunAlerts | None = None
    input_files: InputFiles | None = None
    end_time: str = ""
    folder: str = "."
    files: dict[str, dict[str, RunFile]] | None = None

    @property
    def scoring_settings(self) -> JsonObject:
        """What decides the scores."""
        return scoring_settings(self.config, self.criteria, self.judge)

    def __post_init__(self) -> None:
        if self.problems and self.exit_status == 0:
            raise ValueError("`problems` are stated, and `exit_status` is 0")

    @property
    def thresholds(self) -> dict[str, float]:
        """Criterion -> its threshold, of those that have one."""
        stated = {name: fields.get("threshold") for name, fields in self.criteria.items()}
        return {name: threshold for name, threshold in stated.items() if threshold is not None}
