"""An installed package, or a file, adds an implementation of every kind; nothing else names it."""

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forked
from tests.tables import files_of, rows_of
from turnwise.pipeline.io.sinks import SINKS

PACKAGE = Path(__file__).with_name("package")
FILE = PACKAGE / "turnwise_example.py"
CALLS = [
    {"call": name, "lines": [{"who": "caller", "text": "Hi"}, {"who": "agent", "text": said}]}
    for name, said in (("c1", "Thank you!"), ("c2", "What?"))
]
CONFIG = {"criteria": {"example_thanks": 0.5, "example_kindness": 0.5}}
WANTED = {
    (name, criterion, value) for name, value in (("c1", 1.0), ("c2", 0.0)) for criterion in CONFIG["criteria"]
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Returns a folder into which the package is installed, with its entry points."""
    source = tmp_path_factory.mktemp("source") / "package"
    shutil.copytree(PACKAGE, source)
    place = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    offline = ["--no-build-isolation", "--no-index", "--target", str(place), str(source)]
    subprocess.run([*pip, *offline], check=True, capture_output=True)
    return place


@pytest.fixture(params=["installed", "file"])
def way(request):
    """Returns the arguments and the environment by which the implementations are found."""
    if request.param == "file":
        return ["--plugin", str(FILE)], dict(os.environ)
    return [], {**os.environ, "PYTHONPATH": str(request.getfixturevalue("site"))}


def run(folder, way, *arguments, records=CALLS, command="run"):
    log, config = folder / "log.jsonl", folder / "config.json"
    log.write_text("".join(json.dumps(record) + "\n" for record in records))
    config.write_text(json.dumps(CONFIG))
    known = ["--config", str(config), *way[0]]
    if command == "run":
        known += ["--input", str(log), "--output", str(folder / "out"), "--judge_cache", "none"]
    return forked.run_text([command, *known, *arguments], folder, way[1])


def values(rows):
    turns = (row for row in rows if row["turn_index"] is not None)
    return {(row["conversation_id"], row["criterion"], row["value"]) for row in turns}


def lines(folder, table):
    return rows_of(folder / "out", table)


def test_every_kind_works_in_a_run(way, tmp_path):
    store = tmp_path / "store"
    chosen = ["--output_format", "csv", "--store", f"example://{store}", "--judge", "example_rules"]
    done = run(tmp_path, way, *chosen)
    assert (done.returncode, done.stderr) == (0, "")
    files = files_of(tmp_path / "out", "scores")
    assert {path.suffix for path in files} == {".csv"}
    assert values(json.loads(row[0]) for path in files for row in csv.reader(path.open())) == WANTED
    stored = [row for path in store.glob("scores-*.json") for row in json.loads(path.read_text())]
    assert values(stored) == WANTED
    document = json.loads((tmp_path / "out/run.json").read_text())
    assert document["counts"]["results"] == 2 and document["counts"]["failures"] == {}
    assert (document["judge"]["backend"], document["judge"]["model"]) == ("example_rules", "rules-1")
    assert document["judge"]["usage"]["rules-1"]["calls"] == 2
    again = run(tmp_path, way, *chosen)
    assert again.returncode == 2 and "holds an earlier run" in again.stderr
    of_earlier_version = tmp_path / "out/scores-00007-of-00009.csv"
    of_earlier_version.touch()
    unjudged = ["--output_format", "csv", "--judge", "none", "--input_format", "example_call"]
    again = run(tmp_path, way, *unjudged, "--overwrite")
    assert again.returncode == 0 and not any(path.exists() for path in (of_earlier_version, *files))
    files = files_of(tmp_path / "out", "scores")
    no_score = {(c, n, None if n == "example_kindness" else v) for c, n, v in WANTED}
    assert values(json.loads(row[0]) for path in files for row in csv.reader(path.open())) == no_score
    tools = run(tmp_path, way, "--input_format", "example_call", str(tmp_path / "log.jsonl"), command="tools")
    assert (tools.returncode, tools.stderr) == (0, "0 tools, 0 of them guessed by name\n")


def test_events_are_joined_in_a_stream(site, tmp_path):
    way = ([], {**os.environ, "PYTHONPATH": str(site)})
    at = ["2026-03-01T10:00:00Z", "2026-03-01T10:00:05Z"]
    events = [
        {"call": call["call"], "line_number": i, "spoken_at": at[i], "hangs_up": i == 1, **line}
        for call in CALLS
        for i, line in enumerate(call["lines"])
    ]
    ends = ["--streaming", "--stop_after", "2", "--max_run_time", "300"]
    done = run(tmp_path, way, *ends, "--judge", "example_rules", records=events)
    assert (done.returncode, done.stderr) == (0, "")
    rows = lines(tmp_path, "scores")
    assert values(rows) == WANTED
    metrics = rows_of(tmp_path / "out", "metrics_by_app_version")
    assert metrics[0]["window_start"].startswith("2026-03-01T10")


UNKNOWN = [
    ("--input_format exampel_call", "unknown input format (did you mean example_call?)"),
    ("--output_format cvs", "unknown sink (there are: avro, csv, jsonl)"),
    ("--store zzz:///x", "is no store ({services})"),
    ("--store example:x", "an address of example is example:///FOLDER"),
    ("--store exampel:///x", "is no store (did you mean example?)"),
]
EACH = """
import json, sys
from turnwise.pipeline.cli.main import main
print(*(main([*sys.argv[2:], *arguments]) for arguments in json.loads(sys.argv[1])))
"""


def test_an_unknown_name_is_refused(site, tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps(CALLS[0]) + "\n")
    command = [sys.executable, "-c", EACH, json.dumps([arguments.split() for arguments, _ in UNKNOWN])]
    command += ["run", "--input", str(log), "--output", str(tmp_path / "out")]
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.stdout.split() == ["2"] * len(UNKNOWN)
    stores = {name: kind.help for name, kind in SINKS.items() if kind.schemes and kind.option == "--store"}
    known = ", ".join(text for _, text in sorted((stores | {"example": "example:///FOLDER"}).items()))
    lines = done.stderr.replace(known, "{services}")
    assert lines == "".join(f"turnwise: {arguments}: {message}\n" for arguments, message in UNKNOWN)
    assert not (tmp_path / "out").exists()


def test_the_help_of_run_lists_what_a_plugin_adds(tmp_path):
    done = forked.run_text(["run", "--plugin", str(FILE), "--help"], tmp_path, dict(os.environ))
    assert (done.returncode, done.stderr) == (0, "")
    for name in ("example_call", "example_line", "csv (comma-separated values)", "example:///FOLDER"):
        assert name in " ".join(done.stdout.split())
    assert "example_rules: " in " ".join(done.stdout.split())


ODD = """
from turnwise import MeasuredCriterion
class Odd(MeasuredCriterion):
    name = 'odd'
    def score(self, sample, pair): return None
"""


def add_package(site, name, entry_points):
    info = site / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)


BROKEN_PACKAGES = [
    ("criteria", "zzz_missing:A", "ModuleNotFoundError: No module named 'zzz_missing'"),
    ("formats", "json:dumps", "cannot be used as input format: it is no Format"),
    ("judges", "json:nothing", "AttributeError"),
    ("sinks", "json:loads", "it is no SinkKind"),
]
WITH_EACH = """
import sys
from turnwise.pipeline.cli.main import main
from turnwise.schemas.registry import REGISTRIES, _distributions
for site in sys.argv[1:5]:
    sys.path.insert(0, site)
    _distributions.cache_clear()
    for registry in REGISTRIES:
        registry._is_complete = False
    print(main(sys.argv[5:]))
    sys.path.remove(site)
"""


def test_a_broken_package_is_named(tmp_path):
    for group, value, _ in BROKEN_PACKAGES:
        add_package(tmp_path / group, "broken-one", f"[turnwise.{group}]\nbad = {value}\n")
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps(CALLS[0]) + "\n")
    command = [sys.executable, "-c", WITH_EACH, *(str(tmp_path / group) for group, *_ in BROKEN_PACKAGES)]
    command += ["run", "--input", str(log), "--output", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.stdout.split() == ["2"] * len(BROKEN_PACKAGES)
    for line, (*_, message) in zip(done.stderr.splitlines(), BROKEN_PACKAGES, strict=True):
        assert line.startswith("turnwise: plugin bad of broken-one: ") and message in line


AGAIN = """
import turnwise
from turnwise.pipeline.io.sinks import SINKS, SinkKind, find_service, register_sink
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.formats.registry import Format, formats_in_order, register_format
from turnwise.transforms.judging.judges import JUDGES, JudgeKind, register_judge

for time in range(2):
    class Odd(turnwise.MeasuredCriterion):
        name = "odd"
        def score(self, sample, pair): return None
    read = lambda value, record, settings: []
    call = register_format(Format(name="call", help="", recognises=lambda record: False, read_log=read))
    judge = register_judge(JudgeKind(name="mine", help="", answer=lambda: None))
    sink = register_sink(SinkKind(name="mine", help="", schemes=("mine",), open=lambda place: None))
    assert formats_in_order().count(call) == 1 and call in formats_in_order()
    assert (CRITERIA["odd"], JUDGES["mine"], SINKS["mine"]) == (Odd, judge, sink)
    assert find_service("--store", "mine:///x") is sink
try:
    class Other(Odd):
        name = "odd"
except TypeError as error:
    assert str(error) == "the name odd is taken by another criterion"
else:
    raise AssertionError
"""


def test_a_notebook_cell_can_be_run_again():
    done = subprocess.run([sys.executable, "-c", AGAIN], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_entry_point_has_the_name_of_its_object(tmp_path):
    site = tmp_path / "site"
    add_package(site, "other-name", "[turnwise.criteria]\npolite = other_name:Odd\n")
    (site / "other_name.py").write_text(ODD)
    done = run(tmp_path, ([], {**os.environ, "PYTHONPATH": str(site)}))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "plugin polite of other-name: " in done.stderr and "is called odd" in done.stderr
