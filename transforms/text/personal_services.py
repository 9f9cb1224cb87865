"""Detectors beside the built-in one, with one interface: Presidio, and Google's Sensitive Data Protection.

They add kinds of their own, such as names of persons. Both see the words as they are; Google's is a service.
"""

from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from typing import Any

from turnwise.schemas.config import RedactConfig
from turnwise.transforms.text.personal import Finding

Detector = Callable[[str], Iterator[Finding]]
_PACKAGES = {"presidio": "presidio_analyzer", "google": "google.cloud.dlp_v2"}


def check_backend(config: RedactConfig) -> None:
    """Raises ValueError, in one line, if a backend cannot be used here."""
    package = _PACKAGES.get(config.backend)
    try:
        is_there = package is None or find_spec(package) is not None
    except ModuleNotFoundError:
        is_there = False
    if not is_there:
        name = "turnwise[gcp]" if config.backend == "google" else "presidio-analyzer and a model of spaCy"
        raise ValueError(f"redact: backend {config.backend}: needs {name}, which is not installed")
    if config.backend == "google" and not config.project:
        raise ValueError("redact: backend google: needs `project`")


def service_findings(config: RedactConfig, text: str) -> Iterator[Finding]:
    """Yields what the backend of a config finds in a text; nothing for the built-in one."""
    if config.backend != "builtin":
        yield from _detector(config.backend, config.project or "")(text)


@cache
def _detector(backend: str, project: str) -> Detector:
    if backend == "presidio":
        from presidio_analyzer import AnalyzerEngine

        return presidio_detector(AnalyzerEngine())
    from google.cloud.dlp_v2 import DlpServiceClient

    return google_detector(DlpServiceClient(), project if "/" in project else f"projects/{project}")


def presidio_detector(engine: Any, language: str = "en") -> Detector:
    """Returns a detector that asks an AnalyzerEngine of Presidio for all entities that it knows."""

    def find(text: str) -> Iterator[Finding]:
        for one in engine.analyze(text=text, language=language):
            yield Finding(one.start, one.end, one.entity_type, text[one.start : one.end])

    return find


def google_detector(client: Any, parent: str) -> Detector:
    """Returns a detector that asks a DlpServiceClient, which counts in code points as Python does."""

    def find(text: str) -> Iterator[Finding]:
        config = {"min_likelihood": "POSSIBLE", "limits": {"max_findings_per_request": 0}}
        request = {"parent": parent, "inspect_config": config, "item": {"value": text}}
        for one in client.inspect_content(request=request).result.findings:
            place = one.location.codepoint_range
            yield Finding(place.start, place.end, one.info_type.name, text[place.start : place.end])

    return find
