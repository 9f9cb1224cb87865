"""Makes evaluations of the conversations of runs."""

from sqlalchemy import Connection, select

from turnwise.pipeline.service.changes import create_evaluation
from turnwise.pipeline.service.errors import ServiceError, field_errors, invalid, not_found
from turnwise.pipeline.service.operations.jobs import Going, Job
from turnwise.pipeline.service.operations.kinds import GENERATE
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.store.conversations import find_conversation, scores_of
from turnwise.pipeline.store.runs import is_counted
from turnwise.pipeline.store.tables import CONVERSATIONS, key_text
from turnwise.schemas.ces.cases import Evaluation
from turnwise.schemas.ces.names import app_of, checked_name, id_of
from turnwise.schemas.ces.requests import CreateEvaluationRequest
from turnwise.schemas.ces.run_requests import GenerateEvaluationRequest
from turnwise.schemas.ces.transfers import GeneratedType
from turnwise.schemas.conversation_row import ConversationRow
from turnwise.schemas.values import JsonObject
from turnwise.transforms.case_making.candidate import row_candidate
from turnwise.transforms.case_making.make import made_case
from turnwise.transforms.conversion.convert import converted
from turnwise.transforms.conversion.targets.ces import CES_EVALUATION


def conversation_evaluation(service: Service, name: str) -> JsonObject:
    """Returns the content of a golden that expects what a conversation holds, to be approved by a person.

    Args:
        service: The service.
        name: Name of the conversation, in the app (then the last run that scored it counts) or in a run.

    Raises:
        ServiceError: There is no such conversation, or it holds nothing that could be expected.
    """

    def work(connection: Connection) -> tuple[ConversationRow, frozenset[int]]:
        stored = _stored_name(connection, name)
        row = find_conversation(connection, stored)
        if row is None:
            raise not_found(name)
        scores = [score for score in scores_of(connection, stored) if score["outcome"] == "FAIL"]
        return row, frozenset(score["turn_index"] for score in scores if score["turn_index"] is not None)

    row, failed = service.store.read(work)
    try:
        content = _golden(row, failed)
    except ValueError as error:
        raise ServiceError("FAILED_PRECONDITION", f"{name}: {error}") from None
    short = id_of(row["conversation_id"].rsplit("/", 1)[-1])
    return {**content, "name": f"{app_of(name)}/evaluations/{short}", "displayName": short}


def generate_evaluation(service: Service, request: GenerateEvaluationRequest) -> JsonObject:
    """Begins to make an evaluation of a conversation.

    Raises:
        ServiceError: The request is invalid.
    """
    with field_errors("conversation"):
        name = checked_name("conversation", request.conversation)
    if request.evaluation_type not in (GeneratedType(0), GeneratedType.GOLDEN):
        raise ServiceError("UNIMPLEMENTED", "only goldens are made of conversations", "evaluationType")
    if int(request.source):
        raise invalid("source", "the store does not know where conversations came from; leave it out")

    def work(going: Going) -> JsonObject:
        content = conversation_evaluation(service, name)
        made = Evaluation.from_value({key: item for key, item in content.items() if key != "name"})
        own = content["name"].rsplit("/", 1)[-1]
        return create_evaluation(
            service, CreateEvaluationRequest(parent=app_of(name), evaluation_id=own, evaluation=made)
        )

    return service.begin(Job(GENERATE, app_of(name), work, {}))


def _stored_name(connection: Connection, name: str) -> str:
    if "/evaluationRuns/" in name:
        return name
    ids = (name, name.rsplit("/", 1)[-1])
    is_it = CONVERSATIONS.c.app == app_of(name), CONVERSATIONS.c.conversation_id.in_(map(key_text, ids))
    query = select(CONVERSATIONS.c.name).where(*is_it, is_counted(CONVERSATIONS))
    newest = query.order_by(CONVERSATIONS.c.update_nanos.desc(), CONVERSATIONS.c.name).limit(1)
    found = connection.execute(newest).scalar()
    if found is None:
        raise not_found(name)
    return str(found)


def _golden(row: ConversationRow, failed: frozenset[int]) -> JsonObject:
    candidate = row_candidate(row, failed)
    if candidate.cut:
        raise ValueError("its transcript was cut, so that what it holds is not known")
    if not candidate.conversation.turns:
        raise ValueError("it has no turns")
    # An evaluation has no language, and declares no tools.
    return converted(made_case(candidate, "golden", "").case, CES_EVALUATION).record
