"""Further detectors of personal data: Presidio, and Google's Sensitive Data Protection."""

from collections.abc import Iterator

from turnwise.schemas.config import RedactConfig
from turnwise.transforms.text.personal import Finding


def service_findings(config: RedactConfig, text: str) -> Iterator[Finding]:
    """Yields what a service finds in a text."""
    yield from ()
