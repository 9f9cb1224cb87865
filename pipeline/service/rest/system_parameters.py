"""The parameters that every method of a Google API takes."""

import re
from collections.abc import Mapping

_IGNORED = re.compile(r"\$?(alt|prettyPrint|userProject|xgafv)")


def without_system_parameters(query: Mapping[str, str]) -> dict[str, str]:
    """Returns the parameters of a query that are the method's own."""
    return {key: text for key, text in query.items() if not _IGNORED.fullmatch(key)}
