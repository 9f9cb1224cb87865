"""The conversations of a report, by column."""

import msgspec

from turnwise.schemas.values import JsonValue

Detail = dict[str, JsonValue]
"""Transcript and scores of one conversation, as one entry of a chunk."""


class Conversations(msgspec.Struct, frozen=True):
    """All conversations in reading order, by column; texts of `int` columns are places in `names`.

    Attributes:
        id: Ids of the conversations.
        version: Places of the versions.
        eval_id: Eval cases.
        language: Places of languages; -1: not stated.
        tags: Places of tags.
        verdict: PASS, FAIL or None.
        reason: Why there is no verdict.
        ended: How it ended.
        worst: Place of the worst criterion's name; -1: none failed.
        worst_turn: Its 0-based turn; None: the whole conversation.
        why: One line on what is wrong.
        harm: What decides the order, at least 0.
        harm_term: What the harm consists of.
        cluster_label: What conversations of the same cluster have in common.
        cluster: Places of clusters; -1: none.
        turns: Number of turns.
        tool_calls: Number of tool calls.
        tool_errors: Number of calls with an error.
        destructive_calls: Number of destructive calls.
        seconds: Sum of the turns' latencies.
        tokens_in: Tokens of prompts.
        tokens_out: Tokens of answers.
        time: Start.
        source: Places of files or topics; -1: unknown.
        position: Line or record in it.
        passed: Places of the names of the criteria that passed.
        failed: Places of the names of the criteria that failed.
        unscored: Places of the names of the criteria without a value.
        whole: Places of the names of the criteria with a score of the whole conversation.
        by_turn: Places of the names of the criteria with scores of turns.
        labels: Places of the labels of its scores.
        tools: Places of the names of the called tools.
        chunk: Place of the chunk with transcript and scores; -1: left out of the report.
        is_random: Whether it belongs to the random sample of a report with few transcripts, or to a report
            with all of them.
    """

    id: list[str]
    version: list[int]
    eval_id: list[str | None]
    language: list[int]
    tags: list[list[int]]
    verdict: list[str | None]
    reason: list[str | None]
    ended: list[str | None]
    worst: list[int]
    worst_turn: list[int | None]
    why: list[str | None]
    harm: list[float]
    harm_term: list[str | None]
    cluster_label: list[str | None]
    cluster: list[int]
    turns: list[int | None]
    tool_calls: list[int | None]
    tool_errors: list[int | None]
    destructive_calls: list[int | None]
    seconds: list[float | None]
    tokens_in: list[int | None]
    tokens_out: list[int | None]
    time: list[str | None]
    source: list[int]
    position: list[int | None]
    passed: list[list[int]]
    failed: list[list[int]]
    unscored: list[list[int]]
    whole: list[list[int]]
    by_turn: list[list[int]]
    labels: list[list[int]]
    tools: list[list[int]]
    chunk: list[int]
    is_random: list[bool]
