"""Lists the methods of the CES API v1beta, by the HTTP rules of its services."""

import re

from turnwise.pipeline.service.rest.method import path_pattern

_PLACE = "projects/*/locations/*"
_APP = f"{_PLACE}/apps/*"
_LISTED = ("GET", "POST")
_CHANGED = ("DELETE", "GET", "PATCH")
_COLLECTIONS = {
    **{
        name: (_LISTED, _CHANGED)
        for name in (
            *("agents", "deployments", "evaluationDatasets", "evaluationExpectations", "evaluations"),
            *("examples", "guardrails", "scheduledEvaluationRuns", "tools", "toolsets"),
        )
    },
    "changelogs": (("GET",), ("GET",)),
    "conversations": (("GET",), ("DELETE", "GET")),
    "evaluationRuns": (("GET",), ("DELETE", "GET")),
    "evaluations/*/results": (("GET",), ("DELETE", "GET")),
    "versions": (_LISTED, ("DELETE", "GET")),
}
"""Collections of an app: methods of the collection, methods of one resource."""

_ACTIONS = (
    *(":executeTool", ":exportApp", ":generateAppResource", ":importEvaluations", ":retrieveToolSchema"),
    *(":runEvaluation", ":testPersonaVoice"),
    *("/conversations/*:generateEvaluation", "/conversations:batchDelete"),
    *("/evaluationRuns:export", "/evaluations:export", "/evaluations/*:uploadEvaluationAudio"),
    *("/evaluations/*/results:export", "/evaluations/*/results/*:runEvaluationResultMetrics"),
    *("/sessions/*:generateChatToken", "/sessions/*:runSession", "/sessions/*:streamRunSession"),
    *("/toolsets/*:retrieveTools", "/versions/*:restore"),
)
"""Custom methods of an app and its resources (POST)."""

_METHODS: dict[str, tuple[str, ...]] = {
    "projects/*/locations": ("GET",),
    _PLACE: ("GET",),
    f"{_PLACE}/apps": _LISTED,
    _APP: _CHANGED,
    f"{_PLACE}/apps:importApp": ("POST",),
    f"{_PLACE}/operations": ("GET",),
    f"{_PLACE}/operations/*": ("DELETE", "GET"),
    f"{_PLACE}/operations/*:cancel": ("POST",),
    f"{_PLACE}/securitySettings": ("GET", "PATCH"),
    **{f"{_APP}/{name}": whole for name, (whole, _) in _COLLECTIONS.items()},
    **{f"{_APP}/{name}/*": one for name, (_, one) in _COLLECTIONS.items()},
    **{f"{_APP}{action}": ("POST",) for action in _ACTIONS},
}


_PATTERNS = [(re.compile(path_pattern(path)), methods) for path, methods in _METHODS.items()]


def has_method(method: str, path: str) -> bool:
    """Returns whether the API has a method at a path (below `/v1beta/`)."""
    return any(method in methods and pattern.fullmatch(path) for pattern, methods in _PATTERNS)
