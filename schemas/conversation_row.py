"""The row of a conversation: one row a conversation, with its transcript."""

from typing import TypedDict

from turnwise.schemas.values import JsonObject


class ConversationRow(TypedDict):
    """One conversation: its verdict, why it should be read, its figures, and what was said and called.

    Attributes:
        run_id: Id of the run.
        conversation_id: Id of the conversation.
        user_id: Id of the user; null: the log does not state it.
        eval_id: Id of the eval case; null: there is none.
        eval_set_id: Id of the eval set of the case.
        case_digest: Digest of what its eval case, or the record itself, expects: 16 hexadecimal digits, the
            same in every run where the same is expected. Null: nothing is expected.
        task: What it is a run of, by its log: the eval case, or the task with its domain; null: not stated.
        app_version: Version of the agent; null: the log does not state it.
        language: Language of the conversation (BCP 47).
        tags: Tags of the conversation and of its case.
        verdict: PASS or FAIL; null: not decided.
        reason: Why it is not decided, or why it fails whatever its scores.
        sampled_out: Judged criteria that a sample rate left out, and `evaluation_status` if one of them takes
            part in the verdict, which is not decided then.
        ended: How it ended: `normally`, `agent_error`, `limit`, `user_left`, `hand_off` or
            `environment_error`; null: the log does not say.
        worst_criterion: Criterion of the failed score with the greatest harm; null: none failed.
        worst_turn: 0-based turn of that score; null: the whole conversation.
        why: Why it should be read, in one line of at most 200 characters; turns are counted from 0. Null:
            it passed, and nothing failed.
        harm: Order of reading: the greater, the earlier; 0: nothing failed, and it passed or was
            sampled out.
        harm_term: What most of the harm comes from: `destructive`, `safety`, `false_claims`,
            `missing_writes`, `unsupported`, `expectations`, `text`, `other` or `undecided`; null: the harm
            is 0.
        cluster: Key of the conversations with the same kind of problem: criterion, label and tool, separated
            by `|`; null: the harm is 0.
        cluster_label: The same for people, such as `tool_effects_v1: missing book_slot`.
        turns: Number of recorded turns.
        tool_calls: Number of calls of the agent.
        tool_errors: Number of those that failed.
        destructive_calls: Number of successful calls of the agent that cannot be undone.
        unclear_tools: Tools of successful calls of the agent that may have destroyed something without being
            expected: destructive calls for which no calls are stated, and writes that were not expected and
            are told by the name of their tool alone. At most 100.
        guessed_tools: Tools that the agent called and whose effect is guessed from the name or unknown. At
            most 100.
        unknown_calls: Why calls of the agent may be missing in the log; null: it states all.
        latency_seconds: Sum over the turns; null: not logged of every turn.
        tokens_in: Tokens read by the agent's models; null: not logged of every turn.
        tokens_out: Tokens written by the agent's models; null: not logged of every turn.
        event_time: Start of the conversation or, without it, time of its first timed turn, in RFC 3339.
        source: File or topic of the record.
        position: 1-based line or index in the source.
        revision: In a stream, the revision of the conversation; the row with the highest one counts.
        transcript: What was said and called, with what was expected beside it, at most 64 KiB:
            [transcripts](outputs.md#transcripts). Null: with `--no_transcripts`.

    >>> import turnwise
    >>> call = {"name": "book_slot", "args": {"date": "2026-08-07"}}
    >>> turn = {"user": "Hi", "agent": "Hello", "expected": {"tool_calls": [call]}}
    >>> log = {"conversation_id": "c1", "turns": [turn]}
    >>> result = turnwise.evaluate(log, criteria={"tool_effects_v1": 1.0})
    >>> [(row["verdict"], row["harm_term"], row["why"]) for row in result.conversations]
    [('FAIL', 'missing_writes', 'turn 0: missing book_slot(date: 2026-08-07)')]
    >>> result.conversations[0]["transcript"]["turns"][0]["agent"]
    'Hello'
    """

    run_id: str
    conversation_id: str
    user_id: str | None
    eval_id: str | None
    eval_set_id: str | None
    case_digest: str | None
    task: str | None
    app_version: str | None
    language: str | None
    tags: list[str]
    verdict: str | None
    reason: str | None
    sampled_out: list[str]
    ended: str | None
    worst_criterion: str | None
    worst_turn: int | None
    why: str | None
    harm: float
    harm_term: str | None
    cluster: str | None
    cluster_label: str | None
    turns: int
    tool_calls: int
    tool_errors: int
    destructive_calls: int
    unclear_tools: list[str]
    guessed_tools: list[str]
    unknown_calls: str | None
    latency_seconds: float | None
    tokens_in: int | None
    tokens_out: int | None
    event_time: str | None
    source: str | None
    position: int | None
    revision: int
    transcript: JsonObject | None
