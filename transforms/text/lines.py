"""Text in one line."""


def single_spaced(text: str, enough: int) -> str:
    """Returns a text with single spaces in place of white space, of a long text at least its beginning.

    Args:
        text: The text.
        enough: What is left out comes after so many characters of the line, and at least one more.
    """
    start = text[: 2 * enough]
    is_plain = start.isprintable() and "  " not in start
    line = start.strip() if is_plain else " ".join(start.split())
    return line if len(line) > enough or start is text else " ".join(text.split())
