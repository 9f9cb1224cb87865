"""The files of deploy/ name what exists: options, files of the image, versions."""

import argparse
import json
import os
import re
import subprocess
import sys
from importlib.metadata import metadata, version

from apache_beam.options.pipeline_options import PipelineOptions

from tests.documentation import ROOT
from tests.tables import rows_test
from turnwise.pipeline.cli.arguments import add_arguments

DEPLOY = ROOT / "deploy"
test_rows = rows_test(globals(), "deploy")
DAY = "data_interval_start | ds"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
PARAMETERS = json.loads((DEPLOY / "template_metadata.json").read_text())["parameters"]
# What the DAG uses of Airflow: every call is kept.
AIRFLOW = """
import json, os

class Kept:
    def __init__(self, *args, **options):
        with open(os.environ["CALLS"], "a") as file:
            print(json.dumps([type(self).__name__, options], default=str), file=file)
    def __enter__(self):
        return self
    def __exit__(self, *error):
        pass
    def __rshift__(self, later):
        pass

class {name}(Kept):
    pass
"""


def own_options():
    parser = argparse.ArgumentParser(add_help=False)
    add_arguments(parser)
    return {action.dest for action in parser._actions}


def test_parameters_of_the_template_are_the_options():
    assert {entry["name"] for entry in PARAMETERS} == own_options() | {"streaming"}
    assert {entry["name"] for entry in PARAMETERS if not entry.get("isOptional")} == {"input", "output"}
    assert all(entry["label"] and entry["helpText"] for entry in PARAMETERS)


def parameter(name, value, fits):
    """Values of parameters of the template."""
    [entry] = (entry for entry in PARAMETERS if entry["name"] == name)
    assert any(re.search(pattern, value) for pattern in entry["regexes"]) == fits


def dag_calls(folder):
    """Runs the DAG's file with stand-ins of Airflow's classes; yields what it calls them with."""
    names = {
        "airflow": "DAG",
        "airflow.providers.apache.beam.operators.beam": "BeamRunPythonPipelineOperator",
        "airflow.providers.google.cloud.operators.dataflow": "DataflowConfiguration",
        "airflow.providers.standard.operators.bash": "BashOperator",
        "airflow.timetables.interval": "CronDataIntervalTimetable",
    }
    for module, name in names.items():
        path = folder / module.replace(".", "/")
        for parent in (path, *path.parents):
            if folder in parent.parents:
                parent.mkdir(parents=True, exist_ok=True)
                (parent / "__init__.py").touch()
        (path / "__init__.py").write_text(AIRFLOW.replace("{name}", name))
    calls = folder / "calls"
    environment = {**os.environ, "PYTHONPATH": str(folder), "CALLS": str(calls)}
    subprocess.run([sys.executable, str(DEPLOY / "airflow_dag.py")], env=environment, check=True)
    yield from map(json.loads, calls.read_text().splitlines())


def test_the_dag_passes_options_of_the_command(tmp_path):
    calls = dict(dag_calls(tmp_path))
    options = calls["BeamRunPythonPipelineOperator"]["pipeline_options"]
    beam = set(PipelineOptions().get_all_options())
    assert options.keys() <= own_options() | beam
    assert options["date"] == f"{{{{ {DAY} }}}}" and options["input"].endswith("/logs/dt={date}/")
    # Airflow fills in these two fields of the configuration, and no other one.
    filled = {name for name, value in calls["DataflowConfiguration"].items() if "{{" in value}
    assert filled == {"job_name", "location"}
    job = calls["DataflowConfiguration"]["job_name"].replace(f"{{{{ {DAY}_nodash }}}}", "20261121")
    assert re.fullmatch("[a-z0-9-]+", job)


def test_the_dag_asks_for_the_status_of_the_same_day(tmp_path):
    calls = dict(dag_calls(tmp_path))
    options = calls["BeamRunPythonPipelineOperator"]["pipeline_options"]
    since = "--after {{ dag_run.start_date | ts }}"
    wanted = f"turnwise status {options['output']} {since} --input {options['input']}"
    assert calls["BashOperator"]["bash_command"].replace(f"{{{{ {DAY} }}}}", "{date}") == wanted


def test_the_image_copies_what_exists():
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    names = [name for line in copied for name in line.split()]
    assert {"turnwise", "schemas", "transforms", "pipeline"} <= set(names)
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_the_image_installs_beam_and_extras_that_exist():
    assert f"_sdk:{version('apache-beam')}" in DOCKERFILE
    [extras] = re.findall(r"\)\[(.+)\]\"", DOCKERFILE)
    assert set(extras.split(",")) <= set(metadata("turnwise").get_all("Provides-Extra") or ())


def test_the_template_starts_a_run(tmp_path):
    [program] = re.findall(r"FLEX_TEMPLATE_PYTHON_PY_FILE=/opt/turnwise/(\S+)", DOCKERFILE)
    sample = ROOT / "pipeline/sample_data"
    command = [sys.executable, str(DEPLOY / program), f"--input={sample}/conversations", "--judge=none"]
    flags = ["--overwrite=true", "--streaming=false", "--no_transcripts=True", "--dry_run=True"]
    done = subprocess.run([*command, f"--output={tmp_path / 'out'}", *flags], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "the pipeline was translated; nothing was run\n"


def builder(folder, name):
    program = folder / name
    program.write_text(f'#!/bin/sh\nprintf "%s " {name} "$@" >> {folder}/calls\necho >> {folder}/calls\n')
    program.chmod(0o755)
    return program


def test_the_script_builds_pushes_and_makes_a_template(tmp_path):
    image, template = "example.com/turnwise:1", "gs://bucket/turnwise.json"
    builder(tmp_path, "gcloud")
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    environment |= {"BUILDER": str(builder(tmp_path, "buildah")), "BUILD_OPTIONS": "--build-arg PYTHON=3.12"}
    subprocess.run([str(DEPLOY / "build.sh"), image, template], env=environment, cwd=tmp_path, check=True)
    build, push, make = (tmp_path / "calls").read_text().splitlines()
    assert build.split() == (
        f"buildah build --build-arg PYTHON=3.12 --tag {image} --file deploy/Dockerfile .".split()
    )
    assert push.split() == ["buildah", "push", image]
    assert make.split()[:7] == f"gcloud dataflow flex-template build {template} --image {image}".split()


def usage(arguments, said):
    """The script says what it needs."""
    environment = {**os.environ, "BUILDER": "no-such-builder"}
    script = [str(DEPLOY / "build.sh"), *arguments]
    done = subprocess.run(script, capture_output=True, text=True, env=environment)
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1
