"""The report of runs of a store: the page of `turnwise report`."""

from collections.abc import Sequence

from sqlalchemy import Connection
from starlette.responses import HTMLResponse, Response

from turnwise.pipeline.io.stored_run import StoredRun, read_stored_run
from turnwise.pipeline.report.html import report_page, run_rows
from turnwise.pipeline.report_html.compared import compare_versions
from turnwise.pipeline.service.errors import ServiceError, field_errors, invalid
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.service.web.html import HEADERS
from turnwise.schemas.ces.names import checked_name
from turnwise.schemas.config import ConfigError
from turnwise.transforms.decisions.report.figures import Compared

MOST_CONVERSATIONS = 10_000
_MOST_RUNS = 5


def stored_report(service: Service, names: Sequence[str]) -> Response:
    """Returns the report of some runs; raises ServiceError."""
    if not 1 <= len(set(names)) <= _MOST_RUNS or len(set(names)) < len(names):
        raise invalid("run", f"select 1 to {_MOST_RUNS} runs, each once")
    with field_errors("run"):
        wanted = [checked_name("run", name) for name in names]
    runs = service.store.read(lambda connection: _runs(connection, wanted))
    try:
        compared = compare_versions(runs)
    except ConfigError as error:
        raise ServiceError("FAILED_PRECONDITION", str(error)) from None
    gaps = [gap for run in runs for gap in run.gaps]
    told = Compared(compared.comparisons, [*gaps, *compared.refused])
    # The page states its own policy for scripts and styles; a policy for frames counts in a header only.
    headers = {**HEADERS, "Content-Security-Policy": "frame-ancestors 'none'"}
    return HTMLResponse(report_page([run_rows(run) for run in runs], told), headers=headers)


def _runs(connection: Connection, names: Sequence[str]) -> list[StoredRun]:
    try:
        return [read_stored_run(connection, name, MOST_CONVERSATIONS) for name in names]
    except ConfigError as error:
        raise ServiceError("FAILED_PRECONDITION", str(error)) from None
