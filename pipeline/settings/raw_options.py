"""Options of a run as the command line gave them."""

from collections.abc import Sequence

from msgspec import Struct


class RawJudgeOptions(Struct, frozen=True, kw_only=True):
    """What is said of the judge beside the config."""

    judge: str | None = None
    judge_model: str | None = None
    judge_concurrency: int = 64
    judge_cache: str | None = None
    sample_rate: float = 1.0
    estimate: bool = False


class RawOptions(RawJudgeOptions, frozen=True, kw_only=True):
    """turnwise's own options as the command line gave them."""

    input: list[str] | None
    input_format: str
    eval_cases: list[str] | None
    config: str | None
    max_record_mb: float
    output: str | None
    output_format: str
    overwrite: bool
    run_id: str | None
    max_failure_ratio: float | None
    fail_on: list[str] | None
    baseline: str | None
    store: str | None
    store_app: str | None
    no_transcripts: bool = False
    verbose: bool = False
    date: str | None = None
    lookback: int | None = None
    plugin: Sequence[str] = ()
    workers: int | None = None
