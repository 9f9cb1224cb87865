"""Reads the sides of a comparison from a store: verdicts by evaluation."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, select

from turnwise.pipeline.settings.extras import check_store
from turnwise.pipeline.store.engine import open_store
from turnwise.pipeline.store.results import COMPLETED, version_id
from turnwise.pipeline.store.tables import RESULTS, key_text
from turnwise.pipeline.store.urls import shown_url
from turnwise.schemas.config import ConfigError
from turnwise.transforms.comparison.observed import ComparedConversation, ComparedSide, Observed
from turnwise.transforms.scoring.verdict import STATUS

_SHOWN = 10


class StoredResult(NamedTuple):
    """What a comparison needs of a result.

    Attributes:
        evaluation: Name of the evaluation.
        conversation: Id of the conversation.
        version: Id of the app version; "": the draft.
        run: Id of the run.
        status: PASS, FAIL or another text.
    """

    evaluation: str
    conversation: str
    version: str
    run: str
    status: str


def sides_of_store(url: str, app: str | None, names: Sequence[str]) -> tuple[ComparedSide, ComparedSide]:
    """Returns base and candidate.

    Args:
        url: URL of the store.
        app: Name of the app; None: the only one with results.
        names: App version or run of A and of B.

    Raises:
        ConfigError: The store cannot be opened, or holds no result of an app, version or run.
    """
    check_store("--store", url)
    store = open_store(url, read_only=True)
    try:
        results = store.read(lambda connection: read_results(connection, _app(connection, app)))
    finally:
        store.close()
    if names[0] == names[1]:
        raise ConfigError(f"--versions {names[0]} {names[1]}: A and B are the same; nothing to compare")
    shown = shown_url(url)
    return side_of_results(results, names[0], shown), side_of_results(results, names[1], shown)


def _app(connection: Connection, app: str | None) -> str:
    apps = sorted(connection.execute(select(RESULTS.c.app).distinct()).scalars())
    if app is None and len(apps) == 1:
        return apps[0]
    if app is None or app not in apps:
        known = ", ".join(apps[:_SHOWN]) or "none"
        wrong = "--store: --app names the app" if app is None else f"--app {app}: has no result"
        raise ConfigError(f"{wrong} (apps with results: {known})")
    return app


def read_results(connection: Connection, app: str) -> list[StoredResult]:
    """Returns the completed results of an app; each conversation of a version counts in its last run only."""
    columns = (
        *(RESULTS.c.evaluation, RESULTS.c.conversation_id, RESULTS.c.version_id),
        *(RESULTS.c.evaluation_run, RESULTS.c.evaluation_status, RESULTS.c.execution_state),
    )
    newest_first = (RESULTS.c.update_nanos.desc(), RESULTS.c.name.desc())
    rows = connection.execute(select(*columns).where(RESULTS.c.app == app).order_by(*newest_first))
    return [
        StoredResult(evaluation, conversation, version, run.rsplit("/", 1)[-1], status)
        for evaluation, conversation, version, run, status, state in rows
        if state == COMPLETED
    ]


def side_of_results(results: list[StoredResult], name: str, source: str) -> ComparedSide:
    """Returns the results of an app version, or of a run, as a side.

    Raises:
        ConfigError: There is none.
    """
    wanted = key_text(version_id(name))
    own = [result for result in results if result.version == wanted] or [
        result for result in results if result.run == name
    ]
    if not own:
        versions = sorted({result.version for result in results} - {""})
        runs = sorted({result.run for result in results} - {""})
        raise ConfigError(
            f"--versions {name}: no result of this version or run (versions: {_listed(versions)}; runs: "
            f"{_listed(runs)})"
        )
    return ComparedSide(
        name=name,
        source=source,
        conversations=[_conversation(result) for result in _last_runs(own)],
        run_ids=sorted({result.run for result in own}),
    )


def _last_runs(results: list[StoredResult]) -> list[StoredResult]:
    """Returns the results of each conversation's last run; the newest results come first."""
    last: dict[tuple[str, str, str], str] = {}
    keys = [(result.evaluation, result.conversation, result.version) for result in results]
    return [
        result
        for key, result in zip(keys, results, strict=True)
        if last.setdefault(key, result.run) == result.run
    ]


def _conversation(result: StoredResult) -> ComparedConversation:
    value = {"PASS": 1.0, "FAIL": 0.0}.get(result.status)
    verdict = Observed(value, None if value is None else result.status)
    return ComparedConversation(
        result.conversation, result.version or None, result.evaluation, criteria={STATUS: verdict}
    )


def _listed(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) or "none"
