"""What workers on other machines could not find is refused before anything runs."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.runner import create_runner

from tests.served import in_environment
from turnwise.pipeline.cli.run_options import parse_options
from turnwise.pipeline.settings.remote_workers import are_elsewhere, try_staging
from turnwise.schemas.config import ConfigError

IMAGE = "--sdk_container_image=example.com/turnwise:1"
DATAFLOW = ["--runner=DataflowRunner", "--dry_run=True", "--project=some-project", "--region=us-central1"]
DATAFLOW += ["--temp_location=gs://some-bucket/tmp"]
FLINK = ["--runner=FlinkRunner", "--flink_master=cluster.example:8081"]
INPUT, OUTPUT = "--input=gs://some-bucket/logs/", "--output=gs://some-bucket/out"
PLACES = [INPUT, OUTPUT]
STREAM = ["--streaming", "--input=pubsub:projects/p/subscriptions/s", OUTPUT]
PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"
JUDGED = ["--judge=gemini"]
VERTEX = {"GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_CLOUD_PROJECT": "some-project"}


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of this process, without Google's credentials, for a test to change."""
    kept = dict(os.environ)
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"):
        os.environ.pop(name, None)
    os.environ["CLOUDSDK_CONFIG"] = str(tmp_path)
    try:
        yield os.environ  # type: ignore[misc]
    finally:
        os.environ.clear()
        os.environ.update(kept)


@pytest.fixture
def judged(tmp_path: Path) -> str:
    """The option that names a config with a judged criterion."""
    (tmp_path / "config.json").write_text('{"criteria": {"safety_v1": {}}}')
    return f"--config={tmp_path}/config.json"


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


@pytest.mark.parametrize("runner", [DATAFLOW, FLINK], ids=["dataflow", "flink"])
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([INPUT, "--output=out", IMAGE], "--output out: is on this machine"),
        (["--input=logs/", OUTPUT, IMAGE], "--input logs/: is on this machine"),
        (["--input=./gs://b/logs/", OUTPUT, IMAGE], "--input ./gs://b/logs/: is on this machine"),
        ([*PLACES, "--eval_cases=cases/", IMAGE], "--eval_cases cases/: is on this machine"),
        ([*PLACES, "--store=sqlite:////tmp/s.db", IMAGE], "--store sqlite:////tmp/s.db: is on this machine"),
        ([*PLACES, "--store=postgresql://me:geheim@localhost/d", IMAGE], "is on this machine"),
        (
            [*PLACES, "--judge_cache=replies.sqlite", IMAGE],
            "--judge_cache replies.sqlite: is on this machine",
        ),
        ([*PLACES, "--baseline=out/before", IMAGE], "--baseline out/before: is on this machine"),
        ([INPUT, "--output=gs://b/o", "--store=parquet:file:///x", IMAGE], "--store"),
        ([*PLACES, "--setup_file=pyproject.toml"], "must be the whole path"),
        ([*PLACES, f"--setup_file={__file__}"], "must be the whole path"),
        ([*PLACES, IMAGE, "--extra_package=/no/such.tar.gz"], "there is no such file"),
        ([*PLACES, "--sdk_container_image=apache/beam_python3.11_sdk"], "is Beam's own image"),
        (
            [*PLACES, "--sdk_container_image=gcr.io/cloud-dataflow/v1beta3/beam_python3.11_sdk:2.77.0"],
            "is Beam's own image",
        ),
        ([*STREAM, IMAGE, "--alerts=http://localhost:9/hook"], ": is on this machine"),
        (
            ["--input=kafka://localhost:9092/t", "--streaming", OUTPUT, IMAGE],
            "kafka://localhost:9092/t: is on",
        ),
    ],
)
def test_what_only_this_machine_has_is_refused(turnwise, runner, arguments, why):
    done = turnwise("run", *runner, *arguments)
    assert done.status == 2 and done.out == "" and done.err.count("\n") == 1
    assert why in done.err and "geheim" not in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        [IMAGE],
        [f"--setup_file={PYPROJECT}"],
        ["--sdk_container_image=apache/beam_python3.11_sdk:2.77.0", f"--setup_file={PYPROJECT}"],
        [IMAGE, "--store=postgresql://me@db.example/d", "--judge_cache=none"],
    ],
)
def test_what_workers_find_is_accepted(arguments):
    settings, _ = parse_options([*DATAFLOW, *PLACES, *arguments])
    assert settings.is_distributed and settings.judge.config.cache is None


FOREIGN = [
    ("--setup_file", "pyproject.toml", '[project]\nname = "other"\n', "does not install turnwise"),
    ("--setup_file", "pyproject.toml", 'dependencies = ["turnwise>=0.2"]', None),
    ("--requirements_file", "requirements.txt", "requests\n# turnwise\n", "does not list turnwise"),
    ("--requirements_file", "requirements.txt", "turnwise[gcp]==0.2.0\n", None),
    ("--requirements_file", "requirements.txt", "-r more.txt\n", None),
]


@pytest.mark.parametrize(("option", "name", "text", "why"), FOREIGN)
def test_a_package_without_turnwise_is_refused(tmp_path, option, name, text, why):
    (tmp_path / name).write_text(text)
    arguments = [*DATAFLOW, *PLACES, f"{option}={tmp_path / name}"]
    if why is None:
        assert parse_options(arguments)[0].is_distributed
        return
    with pytest.raises(ConfigError, match=why):
        parse_options(arguments)
    assert parse_options([*arguments, IMAGE])[0].is_distributed


def test_a_judge_on_this_machine_is_refused(environment, tmp_path):
    environment.update(VERTEX)
    for host, is_here in (("127.0.0.1:8080", True), ("localhost", True), ("judge.example", False)):
        judge = f'"judge": {{"base_url": "http://{host}"}}'
        (tmp_path / "config.json").write_text(f'{{"criteria": {{"safety_v1": {{}}}}, {judge}}}')
        arguments = [*DATAFLOW, *PLACES, IMAGE, f"--config={tmp_path}/config.json", *JUDGED]
        if is_here:
            with pytest.raises(ConfigError, match=f"base_url http://{host} is on this machine"):
                parse_options(arguments)
        else:
            assert parse_options(arguments)[0].is_distributed


def test_a_stream_that_reads_messages_needs_no_shared_files(turnwise):
    messages = ["--streaming", "--input=pubsub:projects/p/subscriptions/s", IMAGE]
    assert parse_options([*DATAFLOW, *messages, OUTPUT])[0].is_streaming
    done = turnwise("run", *DATAFLOW, *messages, OUTPUT, "--alerts=alerts.jsonl")
    assert done.status == 2 and "--alerts alerts.jsonl: is on this machine" in done.err


def test_a_key_of_this_machine_is_refused(environment, judged):
    environment["GOOGLE_API_KEY"] = "a-secret-key"
    with pytest.raises(ConfigError, match="API key is in this machine's environment") as caught:
        parse_options([*DATAFLOW, *PLACES, IMAGE, judged, *JUDGED])
    assert "a-secret-key" not in str(caught.value)
    for judge in ("local", "none"):
        parse_options([*DATAFLOW, *PLACES, IMAGE, judged, f"--judge={judge}"])
    parse_options([*FLINK, "--environment_type=LOOPBACK", "--input=logs", "--output=out", judged, *JUDGED])


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        ('{"model": "openai/m"}', r"its API key .* put judge\.api_key_secret into the config"),
        ('{"backend": "gemini"}', "the key of openai is in this machine's environment, .* name openai as"),
    ],
)
def test_keys_of_other_judges_are_refused(environment, tmp_path, judge, message):
    environment |= VERTEX | {"OPENAI_API_KEY": "k"}
    options = '{"safety_v1": {"judge_model_options": {"judge_model": "openai/m"}}}'
    (tmp_path / "config.json").write_text(f'{{"criteria": {options}, "judge": {judge}}}')
    with pytest.raises(ConfigError, match=message):
        parse_options([*DATAFLOW, *PLACES, IMAGE, f"--config={tmp_path}/config.json"])


def test_vertex_is_told_to_workers_that_have_an_identity(environment, judged):
    environment.update(VERTEX)
    (Path(environment["CLOUDSDK_CONFIG"]) / "application_default_credentials.json").write_text("{}")
    config = parse_options([*DATAFLOW, *PLACES, IMAGE, judged, *JUDGED])[0].judge.config
    assert (config.project, config.location) == ("some-project", "global")


@pytest.mark.parametrize("place", ["GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG"])
def test_a_file_of_credentials_is_refused(environment, judged, place):
    environment.update(VERTEX)
    file = Path(environment["CLOUDSDK_CONFIG"]) / "application_default_credentials.json"
    assert parse_options([*FLINK, *PLACES, IMAGE, judged, *JUDGED])
    file.write_text("{}")
    if place != "CLOUDSDK_CONFIG":
        environment[place] = str(file)
    with pytest.raises(ConfigError, match="a file of this machine"):
        parse_options([*FLINK, *PLACES, IMAGE, judged, *JUDGED])


@pytest.mark.parametrize("stated", ['"project": "p"', '"api_key_secret": "projects/p/secrets/s/versions/1"'])
def test_a_config_says_that_workers_have_an_identity(environment, tmp_path, stated):
    environment["GOOGLE_APPLICATION_CREDENTIALS"] = str(tmp_path / "key-of-this-machine.json")
    (tmp_path / "config.json").write_text(f'{{"criteria": {{"safety_v1": {{}}}}, "judge": {{{stated}}}}}')
    settings, _ = parse_options([*FLINK, *PLACES, IMAGE, f"--config={tmp_path}/config.json", *JUDGED])
    assert settings.is_distributed and "key-of-this-machine" not in repr(settings)


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
def requirements(tmp_path: Path) -> Iterator[Callable[..., PipelineOptions]]:
    """Makes options with a requirements file, from which pip finds one wheel without an index."""
    wheel = tmp_path / "found-1.0-py3-none-any.whl"
    with ZipFile(wheel, "w") as file:
        file.writestr("found-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: found\nVersion: 1.0\n")
        file.writestr("found-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        file.writestr("found-1.0.dist-info/RECORD", "")

    def made(text: str, *more: str) -> PipelineOptions:
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
    (tmp_path / "mine.py").write_text("")
    done = turnwise("run", *DATAFLOW, *PLACES, IMAGE, "--plugin", tmp_path / "mine.py")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert f"--plugin {tmp_path}/mine.py: is a file of this machine" in done.err


EXTRA = "installs turnwise without its extra postgres"


@pytest.mark.parametrize(
    ("arguments", "is_refused"),
    [
        ([f"--setup_file={PYPROJECT}"], True),
        ([f"--setup_file={PYPROJECT}", "--extra_package=gs://some-bucket/psycopg.whl"], False),
    ],
)
def test_workers_get_the_driver_of_their_database(arguments, is_refused):
    database = "--store=postgresql://me@db.example/d"
    if not is_refused:
        assert parse_options([*DATAFLOW, *PLACES, database, *arguments])[0].is_distributed
        return
    for option in (database, "--judge_cache=postgresql://me@db.example/d"):
        with pytest.raises(ConfigError, match=EXTRA):
            parse_options([*DATAFLOW, *PLACES, option, *arguments])


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
