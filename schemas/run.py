"""The run that results and rows belong to."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunInfo:
    """The run that results and rows belong to.

    Attributes:
        run_id: Id of the run.
        create_time: Start of the run, RFC 3339 in UTC.
        slices: Names of the slices of the metrics (`turnwise.transforms.metrics.slices`).
    """

    run_id: str
    create_time: str
    slices: tuple[str, ...] = ()
