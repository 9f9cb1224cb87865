"""What workers on other machines could not find is refused before anything runs; who holds a judge's limits.

A line of `options.jsonl` runs `arguments`, of which $NAME stands for those of `NAMES`, with `files` and a
`config` in $TMP, the folder of gcloud, and what `environ` adds. The parts of its `error` are in the one line
of the refusal; otherwise `says` is what the settings hold: path -> value.
"""

import json
import os
from operator import attrgetter
from pathlib import Path
from zipfile import ZipFile

import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.runner import create_runner

from tests.served import in_environment
from tests.tables import lines_beside
from turnwise.pipeline.cli.run_options import parse_options
from turnwise.pipeline.settings.remote_workers import are_elsewhere, try_staging, usable_cores
from turnwise.schemas.config import ConfigError

ROOT = Path(__file__).parents[3]
INPUT, OUTPUT = "--input=gs://some-bucket/logs/", "--output=gs://some-bucket/out"
IMAGE = "--sdk_container_image=example.com/turnwise:1"
PLACES = [INPUT, OUTPUT]
DATAFLOW = ["--runner=DataflowRunner", "--dry_run=True", "--project=some-project", "--region=us-central1"]
DATAFLOW += ["--temp_location=gs://some-bucket/tmp"]
FLINK = ["--runner=FlinkRunner", "--flink_master=cluster.example:8081"]
NAMES = {
    **{"$INPUT": [INPUT], "$OUTPUT": [OUTPUT], "$PLACES": PLACES, "$IMAGE": [IMAGE]},
    **{"$REMOTE": [*PLACES, IMAGE], "$DATAFLOW": DATAFLOW, "$FLINK": FLINK},
    "$STREAM": ["--streaming", "--input=pubsub:projects/p/subscriptions/s", OUTPUT],
    "$LOCAL": [f"--input={ROOT}/pipeline/sample_data/conversations", "--output=out"],
    "$SHARED": ["--judge_cache=postgresql://me:geheim@db.example/d"],
    "$ONE": ["--experiments=no_use_multiple_sdk_containers"],
}
VERTEX = {"GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_CLOUD_PROJECT": "some-project"}
SECRETS = ("geheim", "a-secret-key")
LINES = lines_beside(__file__, "options.jsonl")


@pytest.fixture
def environment(tmp_path):
    """The environment of this process, without Google's credentials, for a test to change."""
    kept = dict(os.environ)
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"):
        os.environ.pop(name, None)
    os.environ["CLOUDSDK_CONFIG"] = str(tmp_path)
    try:
        yield os.environ
    finally:
        os.environ.clear()
        os.environ.update(kept)


@pytest.mark.parametrize("name", LINES)
def test_options(turnwise, environment, tmp_path, name):
    line = LINES[name]

    def filled(text):
        known = {"$TMP": tmp_path, "$HERE": __file__, "$PYPROJECT": ROOT / "pyproject.toml"}
        return next((text.replace(key, str(path)) for key, path in known.items() if key in text), text)

    arguments = [filled(text) for word in line["arguments"] for text in NAMES.get(word, [word])]
    files = {
        **line.get("files", {}),
        **({"config.json": json.dumps(line["config"])} if "config" in line else {}),
    }
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    arguments += [f"--config={tmp_path}/config.json"] if "config" in line else []
    for key, value in line.get("environ", {}).items():
        environment.update(VERTEX if key == "$VERTEX" else {key: filled(value)})
    if "error" in line:
        done = turnwise("run", *arguments)
        assert (done.status, done.out, done.err.count("\n")) == (2, "", 1), done
        assert all(part in done.err for part in line["error"]), done.err
        assert not any(secret in done.err for secret in SECRETS)
        return
    settings, _ = parse_options(arguments)
    assert {path: attrgetter(path)(settings) for path in line["says"]} == line["says"]
    assert not any(secret in repr(settings) for secret in SECRETS)


@pytest.mark.parametrize(
    ("arguments", "elsewhere"),
    [
        ([], False),
        (["--runner=PrismRunner"], False),
        (["--runner=PrismRunner", "--environment_type=DOCKER"], True),
        (["--runner=FlinkRunner", "--flink_master=[local]"], False),
        (["--runner=FlinkRunner", "--output_executable_path=/tmp/a.jar"], True),
        (FLINK, True),
        ([*FLINK, "--environment_type=LOOPBACK"], False),
        (["--runner=SparkRunner", "--spark_master_url=local[2]"], False),
        (["--runner=SparkRunner", "--spark_master_url=spark://h:7077"], True),
        (["--runner=PortableRunner", "--job_endpoint=localhost:8099", "--environment_type=LOOPBACK"], False),
        (["--runner=PortableRunner", "--job_endpoint=h:8099", "--environment_type=PROCESS"], True),
        (DATAFLOW, True),
    ],
)
def test_where_workers_are(arguments, elsewhere):
    name = next((a.partition("=")[2] for a in arguments if a.startswith("--runner")), "FnApiRunner")
    assert are_elsewhere(create_runner(name), PipelineOptions(arguments)) is elsewhere


def test_a_package_that_cannot_be_built_is_refused_in_one_line(tmp_path, capfd):
    (tmp_path / "setup.py").write_text("raise RuntimeError('no version of turnwise')\n")
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'mine'\ndynamic = ['version']\n")
    options = PipelineOptions([f"--setup_file={tmp_path}/pyproject.toml"])
    with pytest.raises(ConfigError) as caught:
        try_staging(options)
    said = str(caught.value)
    assert said.startswith(f"--setup_file {tmp_path}/pyproject.toml: cannot be built: ") and "\n" not in said
    assert said.endswith(": RuntimeError: no version of turnwise")
    assert capfd.readouterr() == ("", "")
    try_staging(PipelineOptions([]))


@pytest.fixture
def requirements(tmp_path):
    """Makes options with a requirements file, from which pip finds one wheel without an index."""
    wheel = tmp_path / "found-1.0-py3-none-any.whl"
    with ZipFile(wheel, "w") as file:
        file.writestr("found-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: found\nVersion: 1.0\n")
        file.writestr("found-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        file.writestr("found-1.0.dist-info/RECORD", "")

    def made(text, *more):
        (tmp_path / "requirements.txt").write_text(text)
        return PipelineOptions([f"--requirements_file={tmp_path}/requirements.txt", *more])

    with in_environment({"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)}):
        yield made


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("# all\nfound==1.0\n\napache-beam[gcp]==2.77.0\n", None),
        ("found==1.0\nturnwise==99\n", "turnwise==99: ERROR: No matching distribution found"),
        ("-r more.txt\n", "-r more.txt: ERROR: Could not open requirements file"),
    ],
)
def test_requirements_that_beam_cannot_download_are_refused_in_one_line(requirements, text, why):
    if why is None:
        return try_staging(requirements(text))
    with pytest.raises(ConfigError) as caught:
        try_staging(requirements(text))
    said = str(caught.value)
    assert said.startswith("--requirements_file /") and "\n" not in said
    assert f"requirements.txt: Beam cannot download {why}" in said
    try_staging(requirements(text, "--requirements_cache=skip"))


def test_a_plugin_file_is_refused(turnwise, tmp_path, unchanged):
    (tmp_path / "mine.py").write_text(
        "from turnwise import MeasuredCriterion\nclass Mine(MeasuredCriterion):\n    name = 'mine'\n"
        "    def score(self, sample, pair): return None\n"
    )
    done = turnwise("run", *DATAFLOW, *PLACES, IMAGE, "--plugin", tmp_path / "mine.py")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert f"--plugin {tmp_path}/mine.py: is a file of this machine" in done.err


def test_runners_are_not_given_passwords():
    secret = "postgresql://me:geheim@db.example/d"
    places = [
        f"--store={secret}",
        f"--judge_cache={secret}",
        "--alerts=https://hooks.example/geheim",
        "--eval_cases",
        secret,
        "gs://some-bucket/cases/",
    ]
    settings, options = parse_options([*DATAFLOW, *PLACES, IMAGE, *places])
    assert settings.store == settings.judge.config.cache == secret and secret in settings.eval_cases
    passed = options.get_all_options()
    assert "geheim" not in str(passed) and passed["store"] == "postgresql://me:***@db.example/d"
    assert "geheim" not in repr(settings.judge)


HERE = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"cpu.max": "max 100000\n"}, HERE),
        ({"cpu.max": "100000 100000\n"}, 1),
        ({"pods/this/cpu.max": "199999 100000\n"}, 1),
        ({"pods/cpu.max": "100000 100000\n", "pods/this/cpu.max": "max 100000\n"}, 1),
        ({"pods/that/cpu.max": "100000 100000\n"}, HERE),
        ({"cpu/cpu.cfs_quota_us": "100000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, HERE),
        ({"cpu.max": "100000 0\n"}, HERE),
    ],
)
def test_limits_of_control_groups_count(files, cores, tmp_path):
    own = tmp_path / "own"
    own.write_text("4:memory:/other\n0::/pods/this\n")
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert usable_cores(tmp_path, own) == cores
    assert usable_cores(tmp_path / "nothing", tmp_path / "nothing") == HERE
