"""Names of hive partitions."""

import re

_SPECIAL = re.compile(r'[\x00-\x1f"#%\'*/:=?\\\x7f{\[\]^]')
_NULL = "__HIVE_DEFAULT_PARTITION__"


def partition(column: str, value: str | None) -> str:
    """Returns the name of a partition's folder, escaped as Hive does; null and "" have Hive's default name.

    >>> partition("app_version", "agents/v=1"), partition("app_version", None)
    ('app_version=agents%2Fv%3D1', 'app_version=__HIVE_DEFAULT_PARTITION__')
    """
    return f"{column}={_SPECIAL.sub(_escaped, value) if value else _NULL}"


def _escaped(found: re.Match[str]) -> str:
    return f"%{ord(found[0]):02X}"
