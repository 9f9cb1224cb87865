"""What was lost of a trace on its way: cut off, dropped, or not in the export."""

from collections.abc import Sequence

from turnwise.schemas.conversation import RAW, Turn
from turnwise.transforms.formats.traces.calls import TurnCall
from turnwise.transforms.formats.traces.containers.langsmith import PENDING
from turnwise.transforms.formats.traces.cut import is_cut
from turnwise.transforms.formats.traces.lines import TurnLine
from turnwise.transforms.formats.traces.tree import SpanNode
from turnwise.transforms.formats.unread import UNREAD, Unread, gaps

MISSING_PARENT, MISSING_SPAN, UNFINISHED = "MissingParent", "MissingSpan", "UnfinishedRun"
_CUT = "an attribute of a span that holds messages in JSON is cut off, and is not read"
_CUT_ARGS = "the arguments of a call are JSON that is cut off"
_CUT_RESULT = "the result of a call is JSON that is cut off"


def add_losses(line: TurnLine, calls: Sequence[TurnCall], turn: Turn) -> None:
    """Adds to a turn what limits of the exporter took away of it.

    Args:
        line: The spans of the turn.
        calls: Its calls.
        turn: The turn, with its words, calls and responses.
    """
    _cut(line, calls, turn).add_to(turn)
    _dropped(line).add_to(turn)
    _pending(line).add_to(turn)


def _dropped(line: TurnLine) -> Unread:
    """Returns what limits on the number of attributes and events took away."""
    unread = Unread()
    tops = [unit.top for unit in line.units if unit.top is not None]
    if count := sum(node.span.dropped for node in (*line.main, *tops, *line.inner, *line.tools)):
        is_said = any(node.span.dropped for node in (*line.main, *tops))
        said = (
            f"{count} attributes or events of spans were dropped or cut by a limit, or are in no known form;"
            " what they held is unknown"
        )
        unread.add(UNREAD, said, calls=True, words=is_said)
    return unread


def _pending(line: TurnLine) -> Unread:
    """Returns the runs that had not ended when they were exported."""
    unread = Unread()
    tops = [unit.top for unit in line.units if unit.top is not None]
    nodes = (*line.main, *tops, *line.inner, *line.tools)
    open_spans = [node.span for node in nodes if PENDING in node.span.attributes and not node.span.end]
    if open_spans:
        said = f"the run {open_spans[0].name[:60]!r} had not ended when it was exported"
        unread.add(UNFINISHED, said, calls=True, words=True)
    return unread


def _cut(line: TurnLine, calls: Sequence[TurnCall], turn: Turn) -> Unread:
    """Returns what a limit on the length of attributes took away."""
    unread = Unread()
    steps = [node.step for node in (*line.main, *(unit.top for unit in line.units)) if node is not None]
    if line.is_cut or any(step.input == [] or step.output == [] for step in steps):
        is_lost = is_output_cut(line)
        unread.add(UNREAD, _CUT, calls=is_lost, words=is_lost or turn.user is None)
    texts = (each.call.args[RAW] for each in calls if each.call.args and each.call.args.keys() == {RAW})
    if any(isinstance(text, str) and text.lstrip().startswith(("{", "[")) for text in texts):
        unread.add(UNREAD, _CUT_ARGS, calls=True)
    if any(isinstance(each.response, str) and is_cut(each.response) for each in turn.tool_responses):
        unread.add(UNREAD, _CUT_RESULT, calls=True)
    return unread


def is_output_cut(line: TurnLine) -> bool:
    """Returns whether what a model said is cut off, or what an agent said of which no model call is there."""
    tops = [unit.top for unit in line.units if unit.top is not None]
    is_models = any(node.step.output is not None for node in line.main)
    return any(node.step.output == [] for node in (line.main if is_models else tops))


def add_orphans(nodes: Sequence[SpanNode], turns: Sequence[Turn]) -> None:
    """Adds a finding for spans whose parents are missing, unless one remote caller is all that is missing.

    OTLP's flags, and LangSmith, say where a parent is no remote caller.
    """
    orphans = [node for node in nodes if node.is_orphan]
    callers = {node.span.trace: set[str]() for node in orphans}
    for node in orphans:
        callers[node.span.trace].add(node.span.parent)
    roots = {node.span.trace for node in nodes if node.parent is None and not node.is_orphan}
    local = {node.span.trace for node in orphans if node.span.is_local}
    lost = [trace for trace, parents in callers.items() if len(parents) > 1 or trace in roots | local]
    if lost:
        count = sum(node.span.trace in lost for node in orphans)
        lack = f"{count} of {len(nodes)} spans name a parent that is not there"
        said = f"{lack}; they are read as steps of the root, or as roots"
        gaps(MISSING_PARENT, [said], calls=False, words=False).add_to_all(turns)


def add_missing(nodes: Sequence[SpanNode], turns: Sequence[Turn]) -> None:
    """Adds a finding for spans that a trace lists and that are not there, and for pages that are missing."""
    listed = {own for node in nodes for own in node.span.listed}
    missing = listed - {node.span.id for node in nodes} - {node.span.page for node in nodes}
    if missing:
        said = f"{len(missing)} of {len(listed)} spans or pages that the export names are not there"
        gaps(MISSING_SPAN, [f"{said}; they may hold calls and words"]).add_to_all(turns)
