"""Reads the sides of a comparison from a store: conversations with their scores, or verdicts alone."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple, cast

from sqlalchemy import ColumnElement, Connection, Table, case, func, select

from turnwise.pipeline.settings.extras import check_store
from turnwise.pipeline.store.engine import open_store
from turnwise.pipeline.store.naming import LOCAL_APP
from turnwise.pipeline.store.results import COMPLETED, version_id
from turnwise.pipeline.store.tables import CONVERSATIONS, FAILURES, RESULTS, SCORES, key_text
from turnwise.pipeline.store.urls import StoreError, shown_url
from turnwise.schemas.config import ConfigError
from turnwise.schemas.rows import FailureRow, ScoreRow
from turnwise.transforms.comparison.collect import Summary, collect, ruler_of
from turnwise.transforms.comparison.errors import add_errors, raised_errors
from turnwise.transforms.comparison.observed import ComparedConversation, ComparedSide, Observed
from turnwise.transforms.scoring.verdict import STATUS

_SHOWN = 10
_LOSING = ("read", "parse", "parse_case", "assemble", "match", "score")
"""Stages at which a failure without a criterion is a lost record, case or conversation."""
_SCORE_COLUMNS = (
    "turn_index",
    "criterion",
    "value",
    "outcome",
    "threshold",
    "label",
    "reason",
    "explanation",
)


class _Stored(NamedTuple):
    """A stored conversation or result.

    Attributes:
        name: Its name in the store.
        case: What identifies its case; "": nothing.
        conversation: Id of the conversation.
        version: Id of the app version; "": the draft.
        run: Id of the run.
        verdict: PASS, FAIL or another text.
        why: Why it should be read; "": no reason.
        digest: Digest of what is expected; "": nothing; None: not known.
        row: The row of a conversation without a verdict, as JSON; "": it has one, or is a result.
    """

    name: str
    case: str
    conversation: str
    version: str
    run: str
    verdict: str
    why: str = ""
    digest: str | None = None
    row: str = ""


def sides_of_store(url: str, app: str | None, names: Sequence[str]) -> tuple[ComparedSide, ComparedSide]:
    """Returns base and candidate.

    Args:
        url: URL of the store.
        app: Name of the app; None: the only one with results.
        names: App version or run of A and of B.

    Raises:
        ConfigError: The store cannot be read, or holds no result of an app, version or run.
    """
    check_store("--store", url)
    if names[0] == names[1]:
        raise ConfigError(f"--versions {names[0]} {names[1]}: A and B are the same; nothing to compare")
    shown = shown_url(url)

    def work(connection: Connection) -> tuple[ComparedSide, ComparedSide]:
        own = _app(connection, app)
        return _side(connection, own, names[0], shown), _side(connection, own, names[1], shown)

    try:
        with closing(open_store(url, read_only=True)) as store:
            return store.read(work)
    except StoreError as error:
        raise ConfigError(str(error)) from None


def _app(connection: Connection, app: str | None) -> str:
    found = {
        name
        for table in (RESULTS, CONVERSATIONS)
        for name in connection.execute(select(table.c.app).distinct()).scalars()
    }
    apps = sorted(found)
    if app is None and len(apps) == 1:
        return apps[0]
    if app is None or app not in apps:
        known = ", ".join(apps[:_SHOWN]) or "none"
        wrong = "--store: --app names the app" if app is None else f"--app {app}: has no result"
        raise ConfigError(f"{wrong} (apps with results: {known})")
    return app


def _side(connection: Connection, app: str, name: str, source: str) -> ComparedSide:
    """Returns an app version, or a run, as a side; raises ConfigError if there is none."""
    conversations = _chosen(_conversations(connection, app), name)
    stored = conversations or _chosen(_results(connection, app), name)
    if not stored:
        raise ConfigError(f"--versions {name}: no result of this version or run ({_known(connection, app)})")
    side = ComparedSide(name, source, [], sorted({own.run for own in stored}))
    if conversations:
        side.conversations = collect(_scores(connection, app, stored, side.rulers), map(_summary, stored))
    else:
        side.conversations = [_verdict_alone(own) for own in stored]
    _add_failures(connection, app, side)
    return side


def _conversations(connection: Connection, app: str) -> Iterator[_Stored]:
    columns = (
        *("name", "eval_id", "conversation_id", "version_id", "evaluation_run", "verdict", "why"),
        "case_digest",
    )
    row = case((CONVERSATIONS.c.verdict == "", CONVERSATIONS.c.content), else_="")
    for found in _newest_first(connection, CONVERSATIONS, columns, app, row):
        yield _Stored(*found)


def _results(connection: Connection, app: str) -> Iterator[_Stored]:
    columns = (
        *("name", "evaluation", "conversation_id", "version_id", "evaluation_run", "evaluation_status"),
        "execution_state",
    )
    for *row, state in _newest_first(connection, RESULTS, columns, app):
        if state == COMPLETED:
            yield _Stored(*row)


def _newest_first(
    connection: Connection, table: Table, columns: Sequence[str], app: str, *more: ColumnElement[str]
) -> Iterable[Any]:
    order = table.c.update_nanos.desc(), table.c.name.desc()
    query = select(*(table.c[name] for name in columns), *more).where(table.c.app == app).order_by(*order)
    return connection.execute(query)


def _chosen(stored: Iterable[_Stored], name: str) -> list[_Stored]:
    """Returns what is of an app version or else of a run; each conversation in its last run only."""
    everything = [own._replace(run=own.run.rsplit("/", 1)[-1]) for own in stored]
    wanted = key_text(version_id(name))
    found = [own for own in everything if own.version == wanted]
    found = found or [own for own in everything if own.run == name]
    last: dict[tuple[str, str, str], str] = {}
    return [
        own for own in found if last.setdefault((own.case, own.conversation, own.version), own.run) == own.run
    ]


def _known(connection: Connection, app: str) -> str:
    stored = [*_conversations(connection, app), *_results(connection, app)]
    versions = sorted({own.version for own in stored} - {""})
    runs = sorted({own.run.rsplit("/", 1)[-1] for own in stored} - {""})
    shown = [", ".join(names[:_SHOWN]) or "none" for names in (versions, runs)]
    return f"versions: {shown[0]}; runs: {shown[1]}"


def _summary(own: _Stored) -> Summary:
    verdict = own.verdict if own.verdict in ("PASS", "FAIL") else None
    return Summary(
        own.conversation,
        own.version or None,
        verdict,
        own.why or None,
        own.case or None,
        case_digest=own.digest,
        sampled_out=(json.loads(own.row).get("sampled_out") or ()) if own.row else (),
    )


def _add_failures(connection: Connection, app: str, side: ComparedSide) -> None:
    """Adds what the runs of a side lost, and what criteria raised."""
    runs = [f"{own}/evaluationRuns/{run}" for own in (app, LOCAL_APP) for run in side.run_ids]
    is_theirs = FAILURES.c.evaluation_run.in_(runs)
    raised = select(FAILURES.c.content).where(
        is_theirs, FAILURES.c.stage == "score", FAILURES.c.criterion != ""
    )
    rows: list[FailureRow] = [json.loads(content) for content in connection.execute(raised).scalars()]
    for row in rows:
        row["conversation_id"] = key_text(row["conversation_id"] or "")
        row["app_version"] = key_text(version_id(row["app_version"] or "")) or None
    add_errors(side.conversations, raised_errors(rows))
    own = {one.app_version for one in side.conversations}
    side.errors = dict(Counter(row["criterion"] or "" for row in rows if row["app_version"] in own))
    lost = select(func.count()).where(is_theirs, FAILURES.c.stage.in_(_LOSING), FAILURES.c.criterion == "")
    side.lost = connection.execute(lost).scalar_one()


def _verdict_alone(own: _Stored) -> ComparedConversation:
    value = {"PASS": 1.0, "FAIL": 0.0}.get(own.verdict)
    verdict = Observed(value, None if value is None else own.verdict)
    return ComparedConversation(own.conversation, own.version or None, own.case, criteria={STATUS: verdict})


def _scores(
    connection: Connection, app: str, stored: Sequence[_Stored], rulers: dict[str, set[str]]
) -> Iterator[ScoreRow]:
    """Yields the scores of conversations, and notes which judges gave them."""
    wanted = {own.name: own for own in stored}
    columns = (*(SCORES.c[name] for name in ("conversation", *_SCORE_COLUMNS, "content")),)
    order = SCORES.c.conversation, SCORES.c.criterion, SCORES.c.turn_index.is_(None), SCORES.c.turn_index
    found = connection.execute(select(*columns).where(SCORES.c.app == app).order_by(*order))
    for conversation, *values, content in found:
        own = wanted.get(conversation)
        if own is None:
            continue
        place = {"conversation_id": own.conversation, "app_version": own.version or None, "run_id": own.run}
        row = dict(zip(_SCORE_COLUMNS, values, strict=True)) | json.loads(content) | place
        score = cast(ScoreRow, {**row, "eval_id": own.case or None})
        ruler = ruler_of(score)
        if ruler is not None:
            rulers.setdefault(score["criterion"], set()).add(ruler)
        yield score
