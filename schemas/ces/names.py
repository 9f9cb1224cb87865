"""Builds and checks resource names of apps, evaluations and results."""

import re
from hashlib import sha256

from turnwise.schemas.jsonio import shown

ANY = "-"
"""Wildcard for all evaluations in the parent of a list."""

UNASSIGNED = "unassigned"
"""Evaluation id in the names of results without an evaluation."""

_ID = r"[A-Za-z0-9][A-Za-z0-9._~-]{0,99}"
_APP = rf"projects/[A-Za-z0-9][A-Za-z0-9.:-]{{0,99}}/locations/{_ID}/apps/{_ID}"
_KINDS = {
    "app": ("", ""),
    "evaluation": (f"/evaluations/{_ID}", "/evaluations/{evaluation}"),
    "result": (f"/evaluations/{_ID}/results/{_ID}", "/evaluations/{evaluation}/results/{result}"),
    "run": (f"/evaluationRuns/{_ID}", "/evaluationRuns/{run}"),
    "conversation": (f"/(?:evaluationRuns/{_ID}/)?conversations/{_ID}", "/conversations/{conversation}"),
    "parent of results": (f"/evaluations/(?:{_ID}|{ANY})", "/evaluations/{evaluation or -}"),
}
"""Kind of a name -> pattern of what follows its app, and the form of that in messages."""
_WHOLE_ID = re.compile(_ID)
_IN_APP = re.compile(rf"{_APP}/.")


def is_name(kind: str, name: str) -> bool:
    """Returns whether a text is the full name of a kind: `app`, `run`, `evaluation`, `result` ..."""
    return re.fullmatch(_APP + _KINDS[kind][0], name) is not None


def checked_name(kind: str, name: str) -> str:
    """Returns a valid name; raises ValueError for another one, with the expected form in one line."""
    form = "projects/{project}/locations/{location}/apps/{app}" + _KINDS[kind][1]
    if not name:
        raise ValueError(f"is missing; its form is {form}")
    if not is_name(kind, name):
        raise ValueError(f"{shown(name)} is not of the form {form}")
    return name


def is_id(text: str) -> bool:
    """Returns whether a text is a valid last part of a name."""
    return _WHOLE_ID.fullmatch(text) is not None


def id_of(text: str) -> str:
    """Returns a valid last part of a name: the text, or a digest of it if it is invalid."""
    return text if is_id(text) else f"x-{sha256(text.encode('utf-8', 'replace')).hexdigest()[:32]}"


def evaluation_id(eval_id: str, eval_set_id: str | None) -> str:
    """Returns the id of a case's evaluation: `{eval_set_id}~{eval_id}`, or `eval_id` without a set."""
    return f"{eval_set_id}~{eval_id}" if eval_set_id else eval_id


def app_of(name: str) -> str:
    """Returns the app of a full name."""
    return "/".join(name.split("/", 6)[:6])


def app_in(*names: str | None) -> str | None:
    """Returns the app of the first name that has one; None: none has."""
    return next((app_of(name) for name in names if name and _IN_APP.match(name)), None)


def version_id(app_version: str) -> str:
    """Returns the last part of the name of an app's version, and any other text whole; "" is the draft."""
    return app_version.rsplit("/", 1)[-1] if _IN_APP.match(app_version) else app_version
