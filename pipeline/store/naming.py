"""Builds full resource names from the short names of a run."""

from hashlib import sha256

from turnwise.schemas.ces.names import app_in, evaluation_id, id_of, is_name
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import ConversationRow, FailureRow, ResultRow, ScoreRow

LOCAL_APP = "projects/local/locations/local/apps/default"
"""Default app of results and failures that name none."""

UNASSIGNED = "unassigned"
"""Evaluation id in the names of results without an evaluation."""


def run_name(app: str, run_id: str) -> str:
    """Returns the name of a run."""
    return f"{app}/evaluationRuns/{id_of(run_id)}"


def evaluation_name(app: str, eval_id: str | None, eval_set_id: str | None = None) -> str:
    """Returns the name of an evaluation: its id if that is a full name, otherwise a name in the app."""
    if eval_id is None:
        return f"{app}/evaluations/{UNASSIGNED}"
    if is_name("evaluation", eval_id):
        return eval_id
    return f"{app}/evaluations/{id_of(evaluation_id(eval_id, eval_set_id))}"


def app_of_row(row: ResultRow | FailureRow | ConversationRow | ScoreRow, default: str) -> str:
    """Returns the app that a row's eval case, conversation or app version names, otherwise the default."""
    case = row.get("eval_id")
    names = case if isinstance(case, str) else None, row["conversation_id"], row["app_version"]
    return app_in(*names) or default


def marked(name: str, *texts: str) -> str:
    """Returns a name with a digest of other texts as suffix."""
    text = "\0".join(texts).encode("utf-8", "replace")
    return f"{name}-{sha256(text).hexdigest()[:16]}"


def full_result(row: ResultRow, app: str) -> JsonObject:
    """Returns the EvaluationResult of a row with full names of the result and its run.

    The name and the display name differ from those of results of the same conversation and case in other runs
    and app versions.

    Args:
        row: The row; it is not changed.
        app: Default app, if neither case nor conversation nor app version names one.
    """
    result = row["result"]
    app = app_of_row(row, app)
    parent = evaluation_name(app, row["eval_id"], row["eval_set_id"])
    run = ""
    if "evaluationRun" in result:
        own_app = parent.partition("/evaluations/")[0]
        run = run_name(own_app, result["evaluationRun"].removeprefix("evaluationRuns/"))
        result = {**result, "evaluationRun": run}
    short, version = result["name"].rsplit("/", 1)[-1], result.get("appVersion", "")
    result = {**result, "name": marked(f"{parent}/results/{short}", run, version)}
    scored = ", ".join(text.rsplit("/", 1)[-1] for text in (run, version) if text)
    if scored and "displayName" in result:
        result["displayName"] += f" ({scored})"
    return result
