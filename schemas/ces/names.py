"""Resource names of the evaluation service: apps, their evaluations and runs, the results of evaluations."""

import re
from hashlib import sha256

from turnwise.schemas.proto.scalars import shown

ANY = "-"
"""Stands for every evaluation in the parent of a list."""

_ID = r"[A-Za-z0-9][A-Za-z0-9._~-]{0,99}"
_APP = rf"projects/[A-Za-z0-9][A-Za-z0-9.:-]{{0,99}}/locations/{_ID}/apps/{_ID}"
_PATTERNS = {
    "app": re.compile(_APP),
    "evaluation": re.compile(rf"{_APP}/evaluations/{_ID}"),
    "result": re.compile(rf"{_APP}/evaluations/{_ID}/results/{_ID}"),
    "parent of results": re.compile(rf"{_APP}/evaluations/(?:{_ID}|{ANY})"),
}
_FORMS = {
    "app": "projects/{project}/locations/{location}/apps/{app}",
    "evaluation": "projects/{project}/locations/{location}/apps/{app}/evaluations/{evaluation}",
    "result": "projects/{project}/locations/{location}/apps/{app}/evaluations/{evaluation}/results/{result}",
    "parent of results": "projects/{project}/locations/{location}/apps/{app}/evaluations/{evaluation or -}",
}
_WHOLE_ID = re.compile(_ID)
_IN_APP = re.compile(rf"{_APP}/.")


def is_name(kind: str, name: str) -> bool:
    """Tells whether a text is the full name of an `app`, `evaluation`, `result` or `parent of results`."""
    return _PATTERNS[kind].fullmatch(name) is not None


def checked_name(kind: str, name: str) -> str:
    """Returns a name of the kind.

    Raises:
        ValueError: It is none; one line with the form that is wanted.
    """
    if not name:
        raise ValueError(f"is missing; its form is {_FORMS[kind]}")
    if not is_name(kind, name):
        raise ValueError(f"{shown(name)} is not of the form {_FORMS[kind]}")
    return name


def is_id(text: str) -> bool:
    """Tells whether a text can be the last part of a name."""
    return _WHOLE_ID.fullmatch(text) is not None


def id_of(text: str) -> str:
    """Returns a text as the last part of a name: itself, or a digest of it where that is impossible."""
    return text if is_id(text) else f"x-{sha256(text.encode('utf-8', 'replace')).hexdigest()[:32]}"


def evaluation_id(eval_id: str, eval_set_id: str | None) -> str:
    """Returns what tells the evaluation of a case apart in its app: its id, behind that of its set."""
    return f"{eval_set_id}~{eval_id}" if eval_set_id else eval_id


def app_of(name: str) -> str:
    """Returns the app that a full name lies in."""
    return "/".join(name.split("/", 6)[:6])


def app_in(*names: str | None) -> str | None:
    """Returns the app that the first name that lies in one lies in."""
    return next((app_of(name) for name in names if name and _IN_APP.match(name)), None)


def parent_of(name: str) -> str:
    """Returns the name that a full name lies directly in."""
    return name.rsplit("/", 2)[0]
