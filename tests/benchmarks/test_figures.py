import argparse
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest

from benchmarks.all import read_found, run
from benchmarks.every import BENCHMARKS, Benchmark
from benchmarks.figures import FAILED, NOT_MEASURED, Check, Found, NotMeasured, Table, run_benchmark, shown
from benchmarks.recorded import all_markdown, filled, new_entry, read_record, write_record
from tests.documentation import PAGES, ROOT
from tests.tables import rows_test

NO_BENCHMARKS = {"redaction", "all", "recorded", "adk_answers", "local_judge_fit"} | {
    *("adk_peer", "judge_child", "judge_peer", "plain_loop")
}
"""Commands that run the others, record answers, fit constants, or are measured by a benchmark."""

test_rows = rows_test(globals(), "figures")
TABLE = Table("speed", ("", "turns", "CPU s"), [["turnwise", 10_000, 6.104], ["another", None, 0.0321]])


def test_a_table_has_three_significant_digits_and_whole_numbers():
    assert TABLE.markdown().splitlines()[2:] == ["| turnwise | 10,000 | 6.10 |", "| another |  | 0.0321 |"]
    assert [shown(value) for value in (0.0, 1642.4, 275.3, 31.02, "a")] == [
        "0.0",
        "1,642",
        "275",
        "31.0",
        "a",
    ]


def found_of(tables=1, checks=(), missing=()):
    return Found([TABLE] * tables, [Check(*check) for check in checks], list(missing))


def status(fields, wanted):
    """It says what failed and what is missing."""
    assert found_of(**fields).status() == globals().get(wanted, wanted)


def test_what_cannot_be_measured_is_named(tmp_path, capsys):
    def measure(options):
        raise NotMeasured("PostgreSQL, which is not installed")

    values = tmp_path / "found.json"
    assert run_benchmark(argparse.ArgumentParser(), measure, ["--json", str(values)]) == NOT_MEASURED
    assert "not measured: PostgreSQL, which is not installed" in capsys.readouterr().out
    assert msgspec.json.decode(values.read_bytes(), type=Found).missing == [
        "PostgreSQL, which is not installed"
    ]


def test_a_benchmark_that_breaks_off_fails():
    assert run(Benchmark("no_such_benchmark", "", ""), small=True, commit="c").found.status() == FAILED


def breaks_off(fields, status, wanted):
    """A benchmark that breaks off after its figures fails."""
    with TemporaryDirectory() as folder:
        values = Path(folder, "figures.json")
        values.write_bytes(msgspec.json.encode(found_of(**fields)))
        assert read_found(values, status).status() == globals().get(wanted, wanted)


def test_entries_are_recorded_and_fill_pages(tmp_path):
    name = BENCHMARKS[0].name
    entry = new_entry(Found([TABLE], [Check("equal", True)]), commit="c", load=0.5, seconds=1.0)
    write_record({name: entry}, tmp_path / "figures.json")
    entries = read_record(tmp_path / "figures.json")
    assert msgspec.json.encode(entries[name]) == msgspec.json.encode(entry)
    page = f"a\n<!-- figures: {name}, speed = 6.10 | none -->\nold\n<!-- end of figures -->\nb\n"
    whole = filled(page, entries)
    part = f"{entry.date}, {entry.machine}; speed:\n\n{TABLE.markdown().rpartition(chr(10))[0]}\n"
    assert whole == page.replace("old\n", f"\n{part}\n") and filled(whole, entries) == whole
    with pytest.raises(ValueError, match="no such: no table has this title"):
        filled(page.replace("speed", "no such"), entries)
    assert "not measured" in all_markdown(entries, ["spans"]) and entry.line() in all_markdown(
        entries, [name]
    )


def test_every_command_is_part_of_all():
    folder = ROOT / "benchmarks"
    commands = {path.stem for path in folder.glob("*.py") if 'if __name__ == "__main__":' in path.read_text()}
    commands |= {path.parent.name for path in folder.glob("*/__main__.py")}
    assert commands - NO_BENCHMARKS == {one.name for one in BENCHMARKS}


@pytest.mark.parametrize("name", PAGES)
def test_figures_of_the_pages_are_the_recorded_ones(name):
    assert filled(PAGES[name], read_record()) == PAGES[name], "run: python -m benchmarks.recorded"


def test_the_figures_of_every_benchmark_are_on_a_page():
    text = "\n".join(PAGES.values())
    marked = re.findall(r"^<!-- figures: (\w+).* -->$", text, re.MULTILINE)
    assert set(marked) == {"commands", *(one.name for one in BENCHMARKS)}
    assert text.count("\n<!-- end of figures -->\n") == len(marked)


def test_a_page_stays_as_it_is_where_nothing_is_recorded():
    page = f"<!-- figures: {BENCHMARKS[0].name} -->\nold\n<!-- end of figures -->\n"
    assert filled(page, {}) == page


def test_the_readme_states_the_recorded_throughput():
    found = read_record().get("throughput")
    if found is None:
        pytest.skip("the throughput is not recorded yet")
    (ratios,) = (table for table in found.found.tables if table.title == "ratios")
    (row,) = (row for row in ratios.rows if str(row[0]).startswith("google-adk's parse, evaluate, save"))
    stated = re.findall(r"throughput: ([\d.]+) times", PAGES["README.md"])
    assert stated == [f"{row[1]:.1f}"], "README.md has another figure than benchmarks/figures.json"
