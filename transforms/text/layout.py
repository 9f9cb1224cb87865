"""Signs and tables of Markdown, HTML and CSV in a text."""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise


def without_markup(text: str, filler: str) -> str:
    """Returns a text of the same length with a filler in place of the signs of Markdown around words."""
    is_marked = "*" in text or "`" in text
    return _MARKUP.sub(lambda match: filler * len(match[0]), text) if is_marked else text


_MARKUP = re.compile(
    r"(?m)(?<![\w*`])(?:\*{1,3}|`{1,3})(?=[^\s*`])|(?<=[^\s*`])(?:\*{1,3}|`{1,3})(?![\w*`])|^```\w*$"
)
_TAG = re.compile(r"(?i)<(/?)(?:t[dhr]|tbody|thead)\b[^<>\n]{0,200}>")
_FIRST_LINE = re.compile(r"\"?[^\W\d][\w .-]{0,40}\"?(?:([,;\t])\"?[^\W\d][\w.-][\w .-]{0,40}\"?)+")
"""Names of columns; words of a sentence have a space after a comma."""
_RULE = re.compile(r"[\s|:-]*-[\s|:-]*")
_FIELD = {
    sign: re.compile(rf'"[^"\n]*"|[^{sign}\n]+|(?<=[{sign}])(?=[{sign}])') for sign in ("|", ",", ";", "\t")
}


def cells_of(text: str, says_value: Callable[[str], bool]) -> Iterator[tuple[int, str, str]]:
    """Yields start, name and text of cells of tables (Markdown, HTML, CSV) whose name says what they are.

    The name is that of the column, or in a row of two cells the first one.
    """
    if not any(sign in text for sign in "\n|<"):
        return
    if "<t" in text.lower():
        text = _TAG.sub(lambda tag: ("|" if tag[0][1:2] == "/" else " ") + " " * (len(tag[0]) - 1), text)
        text = re.sub(r"(?<=\|) {4}\|", "    \n", text)
    names, sign, start = list[str](), "", 0
    for line, below in pairwise([*text.splitlines(keepends=True), ""]):
        cells = _fields(line, sign) if sign else []
        is_row = 1 < len(cells) == len(names)
        if not is_row:
            first = _FIRST_LINE.fullmatch(line.strip())
            sign = "|" if line.count("|") else first[1] if first else ""
            cells = _fields(line, sign) if sign else []
            names = [cell for _, cell in cells]
        is_pair = len(cells) == 2 and cells[1][1] and not _RULE.fullmatch(below)
        if is_pair and says_value(cells[0][1]):
            yield start + cells[1][0], cells[0][1], cells[1][1]
        for name, (at, cell) in zip(names, cells, strict=True) if is_row else ():
            if cell.strip("-: ") and says_value(name):
                yield start + at, name, cell
        start += len(line)


def _fields(line: str, sign: str) -> list[tuple[int, str]]:
    """Returns the cells of a line with their places."""
    body = line.strip(" \r\n")
    first = line.index(body)
    cells = ((first + match.start(), match[0]) for match in _FIELD[sign].finditer(body))
    return [(at + len(cell) - len(cell.lstrip(' "')), cell.strip(' "')) for at, cell in cells]
