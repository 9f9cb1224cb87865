"""The pages that users read: README.md and docs/*.md, with their examples."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SAMPLE = ROOT / "pipeline/sample_data"
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted(DOCS.glob("*.md")))
}
TEXT = "\n".join(PAGES.values())


class Block(NamedTuple):
    """A fenced example.

    Attributes:
        page: The file that it is in, relative to the repository.
        text: What is between the fences.
    """

    page: str
    text: str

    def __repr__(self) -> str:
        """Names it in the output of a test."""
        return f"{self.page}: {' '.join(self.text.split())[:60]}"


def page(name: str) -> str:
    """Returns the text of a page of docs/."""
    return PAGES[f"docs/{name}.md"]


def blocks(language: str) -> list[Block]:
    """Returns the fenced examples of a language, in the order of the pages."""
    fence = re.compile(rf"^```{language}\n(.*?)^```$", re.DOTALL | re.MULTILINE)
    return [Block(name, text) for name, content in PAGES.items() for text in fence.findall(content)]


def table(text: str, header: str) -> list[list[str]]:
    """Returns the cells of the rows below the table header that begins with `header`."""
    rows = text.split(f"| {header} |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


def check_names(listed: Iterable[str], known: Iterable[str], file: str) -> None:
    """Raises AssertionError, which says what to do in a file, unless it lists the names that there are."""
    missing, unknown = sorted({*known} - {*listed}), sorted({*listed} - {*known})
    assert not (missing or unknown), f"{file}: add {missing}, remove {unknown}"


def commands() -> list[Block]:
    """Returns every command line of the shell examples, joined where it continues, without its comment."""
    found = []
    for block in blocks("bash"):
        for line in block.text.replace("\\\n", " ").splitlines():
            found.append(Block(block.page, re.sub(r"\s#\s.*", "", line)))
    return found
