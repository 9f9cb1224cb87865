"""The name of the user of this process."""

import getpass


def current_user() -> str:
    """Returns the name; `unknown` if the system knows none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
