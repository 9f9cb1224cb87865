"""Every method of the CES API is served, or answered with 501, by the HTTP rules of Google's own client."""

import inspect
import re
from importlib import import_module

from google.cloud import ces_v1beta

from turnwise.pipeline.service.rest import METHODS, has_method

SERVICES = ("agent_service", "evaluation_service", "session_service", "tool_service", "widget_service")
APP = "projects/acme-cx/locations/us/apps/travel-desk"


def rules():
    """Yields the HTTP method, the template of the path and the field of the body of every rule."""
    for service in SERVICES:
        module = import_module(f"google.cloud.ces_v1beta.services.{service}.transports.rest_base")
        transports = [kind for name, kind in vars(module).items() if name.endswith("RestTransport")]
        for kind in (inner for t in transports for inner in vars(t).values() if inspect.isclass(inner)):
            for rule in getattr(kind, "_get_http_options", list)():
                yield rule["method"].upper(), rule["uri"].removeprefix("/v1beta/"), rule.get("body", "")


def filled_in(path):
    """Returns a path of a template, with x for what a request fills in."""
    return re.sub(r"\{[\w.]+=([^}]+)\}", r"\1", path).replace("*", "x")


TEMPLATES = set(rules())
RULES = sorted({(verb, filled_in(path)) for verb, path, _ in TEMPLATES})
SERVED = {(method.verb, filled_in(method.path)) for method in METHODS}


def test_the_methods_are_those_of_the_rules():
    assert len(RULES) > 90
    assert [rule for rule in RULES if not has_method(*rule)] == []
    paths = {path for _, path in RULES}
    every = [(method, path) for path in paths for method in ("DELETE", "GET", "PATCH", "POST", "PUT")]
    assert [rule for rule in every if has_method(*rule) and rule not in RULES] == []


def test_the_methods_that_are_served_have_the_rules_of_the_api():
    assert [m.call.__name__ for m in METHODS if (m.verb, m.path, m.body) not in TEMPLATES] == []
    names = {
        re.sub("(?<!^)([A-Z])", r"_\1", name).lower() for name in dir(ces_v1beta.EvaluationServiceClient)
    }
    assert [m.call.__name__ for m in METHODS if m.call.__name__ not in names] == []


def test_what_is_not_served_is_answered_in_the_form_of_the_api(server):
    wrong = []
    for method, path in RULES:
        body = {} if method in ("PATCH", "POST") else None
        code, value = server.call(method, f"/v1beta/{path}", body)
        error = value.get("error", {}) if isinstance(value, dict) else {}
        is_unimplemented = (code, error.get("code"), error.get("status")) == (501, 501, "UNIMPLEMENTED")
        if not isinstance(value, dict) or is_unimplemented is ((method, path) in SERVED):
            wrong.append((method, path, code, value))
    assert wrong == []
