"""Determines how google-adk's sessions and runs of eval cases ended."""

from collections.abc import Sequence

from turnwise.schemas.adk import AdkEvent, EvalCaseResult, EvalStatus
from turnwise.transforms.formats.adk.content import parts_of, text
from turnwise.transforms.formats.endings import UNKNOWN, End, error_end, finished_end

RAISED = "final_eval_status is FAILED and no invocation was recorded: the agent raised an error"


def session_end(events: Sequence[AdkEvent]) -> End:
    """Returns how a session ended, by its last event with content, error or finish reason.

    An invocation ends with a final response, in google-adk's sense; where none followed the user's message or
    the agent's last call, the agent failed. A pending call of a long-running tool is no end.
    """
    last = next((event for event in reversed(events) if _has_end_mark(event)), None)
    if last is None:
        return UNKNOWN
    if last.error_code or last.error_message:
        return error_end(last.error_code, last.error_message)
    finished = finished_end(last.finish_reason)
    if finished.ended not in (None, "normally"):
        return finished
    if last.interrupted:
        return End("user_left", "the agent's last answer was interrupted")
    missing = _missing(last) if not is_final(last) or by_user(last) else None
    if missing is not None:
        return End("agent_error", missing)
    if finished.detail and finished.ended is None:
        return finished
    if next((e.turn_complete for e in reversed(events) if e.turn_complete is not None), None) is False:
        return End(None, "turnComplete is false: the agent had not finished")
    is_answer = is_final(last) and not by_user(last) and not last.long_running_tool_ids
    return finished if is_answer and text(last.content) else UNKNOWN


def case_end(result: EvalCaseResult) -> End:
    """Returns how the run of an eval case ended; google-adk keeps no invocation of one that raised."""
    pairs = result.eval_metric_result_per_invocation
    if pairs:
        is_scripted = all(pair.expected_invocation for pair in pairs)
        answered = parts_of(pairs[-1].actual_invocation.final_response)
        return End("normally") if is_scripted and answered else UNKNOWN
    was_evaluated = any(
        metric.eval_status != EvalStatus.NOT_EVALUATED or metric.score is not None
        for metric in result.overall_eval_metric_results
    )
    raised = result.final_eval_status == EvalStatus.FAILED and not was_evaluated
    return End("agent_error", RAISED) if raised else UNKNOWN


def by_user(event: AdkEvent) -> bool:
    """Returns whether an event is the user's."""
    return event.author.lower() == "user"


def is_final(event: AdkEvent) -> bool:
    """Returns whether an event is a final response, in google-adk's sense."""
    if event.actions.skip_summarization or event.long_running_tool_ids:
        return True
    parts = parts_of(event.content)
    works = any(part.function_call or part.function_response for part in parts)
    return not works and (not parts or parts[-1].code_execution_result is None)


def _has_end_mark(event: AdkEvent) -> bool:
    told = event.content is not None and event.content.parts
    return bool(told or event.error_code or event.error_message or event.finish_reason or event.interrupted)


def _missing(event: AdkEvent) -> str | None:
    """Returns what is missing after a session's last event; None: nothing."""
    parts = parts_of(event.content)
    if by_user(event):
        return "the user's last message has no answer"
    if event.actions.escalate or event.actions.end_of_agent:
        return None
    called = next((part.function_call.name or "?" for part in parts if part.function_call), None)
    return "no answer followed the last tool response" if called is None else f"{called} never responded"
