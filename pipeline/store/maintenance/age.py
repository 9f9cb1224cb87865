"""Ages of runs, such as `90d`."""

import re

from turnwise.schemas.config import ConfigError

DAY_NANOS = 24 * 3600 * 10**9
MOST_DAYS = 99_999
_FORM = re.compile(r"([1-9][0-9]{0,4})d")


def parse_days(option: str, text: str) -> int:
    """Returns the days of an age.

    Args:
        option: The option that states it; the start of the message.
        text: The age, such as `90d`.

    Raises:
        ConfigError: It is none.
    """
    found = _FORM.fullmatch(text)
    if not found:
        raise ConfigError(f"{option} {text}: is no number of days such as 90d")
    return int(found[1])
