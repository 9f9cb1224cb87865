"""Says what a run scores again."""

from typing import NamedTuple

from turnwise.pipeline.store.evaluations import StoredEvaluation
from turnwise.pipeline.store.recordings import StoredRecording
from turnwise.schemas.values import JsonObject


class EvaluationRecordings(NamedTuple):
    """An evaluation and the conversations that are scored again by it.

    Attributes:
        case: The evaluation as a run reads it, with the texts of its expectations.
    """

    evaluation: StoredEvaluation
    case: JsonObject
    recordings: list[StoredRecording]


class Rescoring(NamedTuple):
    """A run that scores recorded conversations again.

    Attributes:
        app: The app.
        run_id: Id of the run.
        version: Id of the app version; None: of all versions.
        dataset: Name of the dataset that names the evaluations; "": the request names them.
    """

    app: str
    run_id: str
    version: str | None
    parts: list[EvaluationRecordings]
    dataset: str

    @property
    def evaluations(self) -> list[str]:
        """Names of the evaluations."""
        return [part.evaluation.name for part in self.parts]
