"""The last recorded figures of every benchmark, with the machine, versions and date of each.

`python -m benchmarks.recorded` writes them into the pages of docs/.
"""

import os
import platform
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path

import msgspec

from benchmarks.children import ADK_VERSION, ROOT
from benchmarks.every import BENCHMARKS
from benchmarks.figures import Found, Table, shown

RECORD = Path(__file__).with_name("figures.json")
_PACKAGES = ("turnwise", "apache-beam", "google-genai", "msgspec", "orjson", "pydantic")
_MARKED = re.compile(r"(<!-- figures: (\w+)(?:, ([^>]+))? -->\n).*?(<!-- end of figures -->)", re.DOTALL)


class Entry(msgspec.Struct, frozen=True):
    """One run of one benchmark.

    Attributes:
        date: Day on which it ran.
        machine: Processor, cores, memory and system.
        versions: Package -> version.
        commit: Commit of the source; `+` after it: with changes that are not committed.
        load: Processes that wanted to run on average in the minute before.
        seconds: How long it took.
        found: What it found.
    """

    date: str
    machine: str
    versions: Mapping[str, str]
    commit: str
    load: float
    seconds: float
    found: Found

    def line(self) -> str:
        """Returns when and where it ran, as a line of text."""
        versions = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        return (
            f"{self.date}, commit {self.commit}, {self.machine}, load {self.load:.1f} before it; {versions}."
        )

    def markdown(self, titles: str | None = None) -> str:
        """Returns when and where it ran, and what was found: all, or some tables (see `filled`)."""
        if titles is None:
            return f"{self.line()}\n\n{self.found.markdown()}"
        return f"{self.date}, {self.machine}; {Found(list(self._tables(titles))).markdown()}"

    def _tables(self, titles: str) -> Iterator[Table]:
        for title, _, cells in (text.partition(" = ") for text in titles.split("; ")):
            named = [table for table in self.found.tables if table.title == title]
            if not named:
                raise ValueError(f"{title}: no table has this title")
            for table in named:
                kept = set(cells.split(" | "))
                rows = [row for row in table.rows if not cells or kept & set(map(shown, row))]
                yield Table(title, table.columns, rows)


def new_entry(found: Found, commit: str, load: float, seconds: float) -> Entry:
    """Returns an entry of what was found just now on this machine."""
    versions = {"Python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}
    versions["google-adk"] = ADK_VERSION
    return Entry(str(date.today()), _machine(), versions, commit, load, seconds, found)


def _machine() -> str:
    names = re.findall(r"^model name\s*: (.*)", _read("/proc/cpuinfo"), re.MULTILINE) or [platform.machine()]
    memory = re.findall(r"^MemTotal:\s*(\d+)", _read("/proc/meminfo"), re.MULTILINE)
    parts = [names[0], f"{os.cpu_count()} cores", *(f"{int(kib) / 2**20:.0f} GB" for kib in memory)]
    return ", ".join([*parts, platform.system()])


def _read(path: str) -> str:
    return Path(path).read_text() if Path(path).exists() else ""


def source_commit() -> str:
    """Returns the commit of the source; with `+` if files were changed since."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return run.stdout.strip() or "unknown"


def read_record(path: Path = RECORD) -> dict[str, Entry]:
    """Returns the recorded entries by benchmark; none where there is no file."""
    return msgspec.json.decode(path.read_bytes(), type=dict[str, Entry]) if path.exists() else {}


def write_record(entries: Mapping[str, Entry], path: Path = RECORD) -> None:
    """Writes entries, in the order of the benchmarks."""
    ordered = {one.name: entries[one.name] for one in BENCHMARKS if one.name in entries}
    path.write_bytes(msgspec.json.format(msgspec.json.encode(ordered), indent=1) + b"\n")


def all_markdown(entries: Mapping[str, Entry], names: Sequence[str]) -> str:
    """Returns one page of the named benchmarks; those without an entry are named, too."""
    texts = {name: entries[name].markdown() if name in entries else "not measured\n" for name in names}
    return "# Figures\n\n" + "\n".join(f"## {name}\n\n{text}" for name, text in texts.items())


def commands_table() -> str:
    """Returns the table of all benchmarks."""
    command = "`.venv/bin/python -m benchmarks.{}`"
    rows = [(command.format(one.name), one.measures, one.time) for one in BENCHMARKS]
    return Table("commands", ("command", "what is measured", "time"), rows).markdown()


def filled(page: str, entries: Mapping[str, Entry]) -> str:
    """Returns a page with the figures anew between `<!-- figures: NAME -->` and `<!-- end of figures -->`.

    NAME is a benchmark, which gives all that it found. `NAME, TITLE; TITLE = CELL | CELL` gives the tables
    with these titles, of the second the rows with one of these cells, and `commands` the table of all
    benchmarks. Where a benchmark has no entry, the page stays as it is.
    """

    def part(found: re.Match[str]) -> str:
        start, name, titles, end = found.groups()
        if name == "commands":
            return f"{start}\n{commands_table()}\n\n{end}"
        if name not in entries:
            return found[0]
        return f"{start}\n{entries[name].markdown(titles)}\n{end}"

    return _MARKED.sub(part, page)


def fill_pages() -> None:
    """Writes the recorded figures into README.md and the pages of docs/."""
    entries = read_record()
    for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        path.write_text(filled(path.read_text(encoding="utf-8"), entries), encoding="utf-8")


if __name__ == "__main__":
    fill_pages()
