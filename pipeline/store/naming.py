"""Full names for what a run knows by short ones."""

from schemas.ces.names import id_of, is_name
from schemas.rows import ResultRow
from schemas.values import JsonObject

LOCAL_APP = "projects/local/locations/local/apps/default"
"""The app of what names none, in a store that holds evaluations of no app or of several."""

UNASSIGNED = "unassigned"
"""Stands for the evaluation in the names of results of conversations that have none."""


def run_name(app: str, run_id: str) -> str:
    """Returns the name of a run."""
    return f"{app}/evaluationRuns/{id_of(run_id)}"


def evaluation_name(app: str, eval_id: str | None) -> str:
    """Returns the name of an evaluation: its id if that is a full name, else one in the app."""
    if eval_id is None:
        return f"{app}/evaluations/{UNASSIGNED}"
    return eval_id if is_name("evaluation", eval_id) else f"{app}/evaluations/{id_of(eval_id)}"


def full_result(row: ResultRow, app: str) -> JsonObject:
    """Returns the EvaluationResult of a row with full names of itself and its run."""
    result = row["result"]
    parent = evaluation_name(app, row["eval_id"])
    named = {**result, "name": f"{parent}/results/{result['name'].rsplit('/', 1)[-1]}"}
    if "evaluationRun" in result:
        own_app = parent.partition("/evaluations/")[0]
        named["evaluationRun"] = run_name(own_app, result["evaluationRun"].removeprefix("evaluationRuns/"))
    return named
