"""Finds the eval cases that an app version has no recording of, and another version of the run has."""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence

from turnwise.schemas.case import CaseKey
from turnwise.schemas.rows import ConversationRow


def unrecorded_cases(
    rows: Iterable[ConversationRow], lost: Container[str]
) -> Mapping[str | None, Sequence[str]]:
    """Returns app version -> ids of the eval cases that other versions alone have a recording of.

    Logs that state no version are no version of their own: their recordings may be of any.

    Args:
        rows: Rows of the run's conversations.
        lost: Eval cases that lost records name; those are counted as lost records.
    """
    recorded: defaultdict[str, set[CaseKey]] = defaultdict(set)
    for row in rows:
        key = _named_case(row)
        if row["app_version"]:
            recorded[row["app_version"]].update(() if key is None else (key,))
    known = {key for own in recorded.values() for key in own if key.eval_id not in lost}
    return {version: sorted(key.eval_id for key in known - own) for version, own in recorded.items()}


def _named_case(row: ConversationRow) -> CaseKey | None:
    """Returns the eval case that a log names; None: there is none.

    A record that contains its expectations and names no case has the id of its conversation in place of one.
    """
    name = row["eval_id"]
    if name is None or (name == row["conversation_id"] and name != row["task"]):
        return None
    return CaseKey(row["eval_set_id"] or "", name)
