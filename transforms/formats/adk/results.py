"""google-adk's eval results, as canonical conversations."""

from collections import Counter
from collections.abc import Sequence

from turnwise.schemas.adk import EvalCaseResult, EvalMetricResultPerInvocation, EvalSetResult, read_log
from turnwise.schemas.conversation import APP_DETAILS, Conversation, ExpectedOutcome, ExpectedTurn, Turn
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.adk.end import case_end
from turnwise.transforms.formats.adk_cases import (
    add_unread,
    invocation_expected,
    invocation_turn,
    rubrics_of,
    stated_app_version,
    turn_context,
)
from turnwise.transforms.formats.adk_sessions import session_conversation
from turnwise.transforms.formats.problems import one_line_problems
from turnwise.transforms.formats.tool_declarations import context_tools
from turnwise.transforms.formats.unread import check_calls
from turnwise.transforms.matching.sample import broke_off


def eval_result_conversations(value: JsonValue) -> list[Conversation]:
    """Returns one conversation per case result of an EvalSetResult, or of one EvalCaseResult.

    A case in which the agent raised an error has no invocation: its turns are those of its session, if
    included, and its app version is that of the session or else of all other cases. Its expectations are
    unknown.

    Raises:
        ValueError: It cannot be read even leniently; one line with the path of the first problem.
    """
    with one_line_problems("not an ADK eval result"):
        if isinstance(value, dict) and ("eval_case_results" in value or "evalCaseResults" in value):
            document = read_log(EvalSetResult, value)
        else:
            document = EvalSetResult(eval_case_results=[read_log(EvalCaseResult, value)])
    results = document.eval_case_results
    sessions = Counter(result.session_id for result in results)
    conversations = []
    for i, result in enumerate(results):
        result.eval_set_id = result.eval_set_id or document.eval_set_id
        unique = result.session_id and sessions[result.session_id] == 1
        name = result.session_id if unique else f"{document.eval_set_result_id}/{result.eval_id}/{i}"
        conversations.append(_conversation(result, name or ""))
    _share_version(conversations)
    _number_runs(conversations)
    return conversations


def _number_runs(conversations: Sequence[Conversation]) -> None:
    """Notes in `meta.trial`, from 0, which run of its case a conversation is, where there are several."""
    keys = [(conversation.eval_set_id, conversation.eval_id) for conversation in conversations]
    counts, done = Counter(keys), Counter[tuple[str | None, str | None]]()
    for key, conversation in zip(keys, conversations, strict=True):
        if counts[key] > 1:
            conversation.meta["trial"] = done[key]
            done[key] += 1


def _share_version(conversations: Sequence[Conversation]) -> None:
    """Sets the app version of aborted conversations without a session to that of all others."""
    versions = {conversation.app_version for conversation in conversations if conversation.turns}
    for conversation in conversations if len(versions) == 1 else ():
        if broke_off(conversation) and not conversation.state:
            conversation.app_version = conversation.app_version or next(iter(versions))


def _conversation(result: EvalCaseResult, conversation_id: str) -> Conversation:
    details = result.session_details if isinstance(result.session_details, dict) else {}
    state = details.get("state")
    state = state if isinstance(state, dict) else {}
    metrics = {metric.metric_name: metric.score for metric in result.overall_eval_metric_results}
    recorded = [pair.actual_invocation for pair in result.eval_metric_result_per_invocation]
    context, end = turn_context(recorded), case_end(result)
    turns = [_turn(pair, i) for i, pair in enumerate(result.eval_metric_result_per_invocation)]
    check_calls(turns)
    made = Conversation(
        conversation_id=conversation_id,
        source="adk",
        app_version=stated_app_version(state),
        eval_id=result.eval_id or None,
        eval_set_id=result.eval_set_id or None,
        user_id=result.user_id or None,
        turns=turns,
        state=state,
        labels={"final_eval_status": result.final_eval_status.name, "metrics": metrics},
        meta=context,
        tools=context_tools(context.get(APP_DETAILS)),
        ended=end.ended,
        ended_detail=end.detail,
        expected=None if recorded else ExpectedOutcome(),
    )
    if details.get("events") and not made.turns:
        _add_session(made, details)
    return made


def _add_session(made: Conversation, details: JsonObject) -> None:
    """Adds turns and end from the session of a run without invocations."""
    session = session_conversation({"id": made.conversation_id, **details})
    made.turns, made.start_time = session.turns, session.start_time
    made.tools, made.meta = session.tools, made.meta | session.meta
    made.user_id = made.user_id or session.user_id
    if made.ended == "agent_error" and session.ended in ("agent_error", "limit"):
        made.ended = session.ended
        made.ended_detail = f"{made.ended_detail}: {session.ended_detail}"


def _turn(pair: EvalMetricResultPerInvocation, index: int) -> Turn:
    """Returns the turn; google-adk copies every rubric that applies onto the actual invocation."""
    turn = invocation_turn(pair.actual_invocation, index)
    add_unread(pair.actual_invocation, turn)
    rubrics = rubrics_of(pair.actual_invocation.rubrics)
    if pair.expected_invocation:
        turn.expected = invocation_expected(pair.expected_invocation)
        turn.expected.rubrics = rubrics or turn.expected.rubrics
    elif rubrics:
        turn.expected = ExpectedTurn(rubrics=rubrics)
    return turn
