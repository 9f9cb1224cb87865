"""LangSmith runs: as its API lists them, as its SDK posts them, and as bulk exports hold them."""

from collections.abc import Iterator

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.spellings import as_text
from turnwise.transforms.formats.traces.message_parts import first_of
from turnwise.transforms.formats.traces.span import TraceSpan
from turnwise.transforms.formats.traces.values import as_id, as_nanos, loaded

PENDING = "langsmith.pending"
"""Key of whether a run had not ended when it was exported; its end may come in another record."""
_USAGES = ("usage_metadata", "usage", "token_usage")


def is_langsmith(record: JsonObject) -> bool:
    """Returns whether a record is a run, or the runs that an SDK posts at once."""
    if "run_type" in record and record.keys() & {"dotted_order", "trace_id", "parent_run_id"}:
        return True
    runs = record.get("runs")
    listed = isinstance(runs, list) and any(isinstance(run, dict) and "run_type" in run for run in runs)
    return listed or (isinstance(record.get("post"), list) and isinstance(record.get("patch"), list))


def langsmith_spans(record: JsonObject) -> Iterator[TraceSpan]:
    """Yields runs as spans; what was posted and what was patched later are two records of one."""
    if "run_type" in record:
        yield from _with_children(record)
        return
    for key in ("runs", "post", "patch"):
        yield from _listed(record.get(key))


def _listed(runs: JsonValue) -> Iterator[TraceSpan]:
    for run in runs if isinstance(runs, list) else ():
        if isinstance(run, dict):
            yield from _with_children(run)


def _with_children(run: JsonObject) -> Iterator[TraceSpan]:
    yield _span(run)
    yield from _listed(run.get("child_runs"))


def _span(run: JsonObject) -> TraceSpan:
    order = run.get("dotted_order")
    steps = order.split(".") if isinstance(order, str) else []
    ids = [step.rpartition("Z")[2] for step in steps]
    extra = loaded(run.get("extra"))
    extra = extra if isinstance(extra, dict) else {}
    outputs = loaded(run.get("outputs"))
    error = run.get("error")
    own = as_id(run.get("id")) or (ids[-1] if ids else "")
    return TraceSpan(
        trace=as_id(run.get("trace_id")) or (ids[0] if ids else own),
        id=own,
        parent=as_id(run.get("parent_run_id")) or (ids[-2] if len(ids) > 1 else ""),
        name=as_text(run.get("name")) or "",
        start=as_nanos(run.get("start_time")),
        end=as_nanos(run.get("end_time")),
        attributes=_attributes(run, extra, outputs),
        error=bool(error),
        message=error if isinstance(error, str) else "",
        is_local=True,
    )


def _attributes(run: JsonObject, extra: JsonObject, outputs: JsonValue) -> JsonObject:
    metadata = loaded(extra.get("metadata"))
    named = metadata if isinstance(metadata, dict) else {}
    stated = {
        "langsmith.span.kind": run.get("run_type"),
        "langsmith.inputs": _inputs(loaded(run.get("inputs"))),
        "langsmith.outputs": outputs,
        "langsmith.usage": _usage(run, outputs),
        PENDING: run.get("status") == "pending" or None,
        "langsmith.call_id": extra.get("tool_call_id"),
        "langsmith.span.tags": run.get("tags"),
        "gen_ai.response.model": named.get("ls_model_name"),
        **{f"langsmith.metadata.{key}": item for key, item in named.items()},
    }
    return {key: item for key, item in stated.items() if item not in (None, "", [], {})}


def _inputs(inputs: JsonValue) -> JsonValue:
    """Returns the inputs without a prompt that spells a chat as one text, whose messages its parent holds."""
    is_prompt = isinstance(inputs, dict) and inputs.keys() == {"prompts"}
    texts = inputs["prompts"] if is_prompt and isinstance(inputs, dict) else None
    first = texts[0] if isinstance(texts, list) and texts else None
    if isinstance(first, str) and first.startswith("Human: ") and "\n" not in first:
        return {"messages": [{"role": "user", "content": first.removeprefix("Human: ")}]}
    return None if isinstance(first, str) and first.startswith(("Human: ", "System: ")) else inputs


def _usage(run: JsonObject, outputs: JsonValue) -> JsonObject | None:
    """Returns the tokens of a run, or of the reply in its outputs."""
    holders: list[JsonValue] = [outputs]
    if isinstance(outputs, dict):
        message = outputs.get("generations")
        while isinstance(message, list) and message:
            message = message[0]
        inner = message.get("message") if isinstance(message, dict) else None
        kwargs = (inner.get("kwargs") or inner) if isinstance(inner, dict) else None
        holders += [outputs.get("llm_output"), kwargs, outputs.get("output"), outputs.get("message")]
    for holder in holders:
        found = first_of(holder, _USAGES) if isinstance(holder, dict) else None
        if isinstance(found, dict):
            details = (found.get(f"{side}_token_details") for side in ("input", "output"))
            return {**found, **{k: v for each in details if isinstance(each, dict) for k, v in each.items()}}
    named = {key: run.get(key) for key in ("prompt_tokens", "completion_tokens")}
    return named if any(named.values()) else None
