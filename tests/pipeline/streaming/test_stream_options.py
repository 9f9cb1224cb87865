"""The options of a stream: what is asked of it, and mistakes that are said before anything runs."""

import json
import sqlite3
from contextlib import closing

import pytest
from msgspec.structs import replace

from turnwise.pipeline.cli.run_options import parse_options
from turnwise.pipeline.settings.options import StreamSettings
from turnwise.schemas.run import StreamRules

NEEDED = ["--input", "in", "--output", "out"]


@pytest.mark.parametrize(
    ("given", "runner"),
    [([], "FnApiRunner"), (["--streaming"], None), (["--streaming", "--runner=PrismRunner"], "PrismRunner")],
)
def test_the_defaults_and_the_runner(given, runner):
    settings, options = parse_options([*NEEDED, *given])
    assert settings.is_streaming == ("--streaming" in given)
    assert settings.stream == StreamSettings(StreamRules())
    named = options.get_all_options()["runner"]
    assert named == runner if runner else named.endswith("DirectRunner")


def test_what_is_given_counts():
    settings, _ = parse_options(
        [
            *(*NEEDED, "--streaming", "--session_gap=30", "--window=60", "--allowed_lateness=0"),
            *("--pane_every=5", "--max_run_time=1.5", "--stop_after=7", "--alerts=file.jsonl"),
            *("--timestamp_attribute=when",),
        ]
    )
    rules = StreamRules(session_gap=30.0, window=60.0, allowed_lateness=0.0, pane_every=5)
    assert settings.stream.rules == rules
    assert replace(settings.stream, rules=rules) == StreamSettings(rules, 1.5, 7, "file.jsonl", "when")


LENGTHS = ["session_gap", "window", "pane_every", "max_run_time", "stop_after"]
ABOVE_ZERO = "must be a number above 0, not"
WRONG = [
    *(([f"--{name}=5"], f"--{name} is an option of a stream; add --streaming") for name in LENGTHS),
    (["--allowed_lateness=0"], "--allowed_lateness is an option of a stream; add --streaming"),
    *((["--streaming", f"--{name}=0"], f"--{name} {ABOVE_ZERO} 0") for name in LENGTHS),
    (["--streaming", "--allowed_lateness=-1"], f"--allowed_lateness {ABOVE_ZERO} -1"),
    (["--streaming", "--window=nan"], f"--window {ABOVE_ZERO} nan"),
    (["--streaming", "--stop_after=1.5"], "invalid int value: '1.5'"),
    (["--streaming", "--sesion_gap=1"], "did you mean --session_gap?"),
    (["--streaming", "--output_format=avro"], "--output_format avro cannot be used with --streaming"),
    (["--streaming", "--estimate"], "turnwise: --estimate cannot be used with --streaming"),
    *(
        (["--input", name], f"--input {name}: is read by a stream only; add --streaming")
        for name in ("-", "otlp://127.0.0.1:0", "kafka://b:1/t", "pubsub:projects/p/topics/t")
    ),
]


@pytest.mark.parametrize(("options", "said"), WRONG, ids=[" ".join(case[0]) for case in WRONG])
def test_a_mistake_is_said_in_one_line(turnwise, tmp_path, options, said):
    done = turnwise("run", "--input", tmp_path, *options, output=tmp_path / "out")
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1) and said in done.err
    assert not (tmp_path / "out").exists()


@pytest.fixture
def refused(turnwise, tmp_path):
    """Returns a function that gives the one line that a stream is refused with."""

    def start(*options, output):
        done = turnwise("run", "--streaming", "--judge", "none", *options, output=output)
        assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
        return done.err

    (tmp_path / "in").mkdir()
    return start


def test_an_output_inside_the_input_would_be_read_again(refused, tmp_path):
    said = refused("--input", tmp_path / "in", output=tmp_path / "in")
    assert f"--output {tmp_path / 'in'}: lies in the input {tmp_path / 'in'}, which is watched" in said
    assert list((tmp_path / "in").iterdir()) == []


def test_the_directory_of_a_batch_run_is_no_stream(refused, turnwise, tmp_path):
    logs = tmp_path / "in/logs.jsonl"
    logs.write_text(json.dumps({"conversation_id": "a", "turns": [{"agent": "a", "latency_ms": 5}]}) + "\n")
    assert turnwise("run", "--input", logs, "--judge", "none", output=tmp_path / "out").status == 0
    before = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert "holds an earlier run" in refused("--input", tmp_path / "in", output=tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == before


def test_what_overwriting_would_endanger(refused, tmp_path):
    said = refused("--input", tmp_path / "out/in", "--overwrite", output=tmp_path / "out")
    assert "--overwrite could remove" in said


CHANGED = [["--window=60"], ["--config", "other.json"]]


@pytest.mark.parametrize("options", CHANGED, ids=["window", "config"])
def test_a_stream_goes_on_under_its_own_config_only(refused, turnwise, tmp_path, options):
    (tmp_path / "other.json").write_text('{"criteria": {"response_match_score": 0.9}}')
    common = ["run", "--streaming", "--judge", "none", "--input", tmp_path / "in", "--max_run_time", "0.1"]
    assert turnwise(*common, "--run_id=first", output=tmp_path / "out").status == 1, "nothing came"
    options = [str(tmp_path / option) if option.endswith(".json") else option for option in options]
    said = refused("--input", tmp_path / "in", *options, output=tmp_path / "out")
    assert "holds a stream of another config or window; --overwrite replaces it" in said
    again = turnwise(*common, *options, "--overwrite", "--run_id=second", output=tmp_path / "out")
    assert again.status == 1 and again.document("run.json")["run_id"] == "second"


def test_a_stream_keeps_its_name_and_its_directory_is_no_batch(turnwise, tmp_path):
    (tmp_path / "in").mkdir()
    common = ["--judge", "none", "--input", tmp_path / "in"]
    for name in ("first", "second"):
        done = turnwise(
            *("run", "--streaming", *common, "--max_run_time=0.1", f"--run_id={name}"),
            output=tmp_path / "out",
        )
        said = "turnwise: no conversation was scored: the input holds no record\n"
        assert (done.status, done.err) == (1, said)
        assert done.document("run.json")["run_id"] == "first"
    batch = turnwise("run", *common, output=tmp_path / "out")
    assert batch.status == 2 and batch.err.count("\n") == 1
    with closing(sqlite3.connect(tmp_path / "out/progress.sqlite")) as connection:
        assert connection.execute("SELECT count(*) FROM conversations").fetchone() == (0,)
