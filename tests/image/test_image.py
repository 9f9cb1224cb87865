"""The image of deploy/Dockerfile is built, and runs alone, as workers of a job, and as a template."""

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.utils import canonicalize_name

from benchmarks.engines.elsewhere import Elsewhere, elsewhere
from benchmarks.engines.engines import find_tools
from benchmarks.engines.objects import BUCKET
from benchmarks.engines.processes import service
from benchmarks.engines.tables import differences

pytestmark = pytest.mark.skipif(
    "TURNWISE_IMAGE" not in os.environ, reason="takes minutes, root and registries: TURNWISE_IMAGE=1"
)
IMAGE = "localhost/turnwise:1"
PACKAGES = "/usr/local/lib/python3.11/dist-packages"
# Beam's program in the image serves its pool of workers there.
POOL_PORT = 50000
OWN_NAMESPACE = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")


class Image(NamedTuple):
    """A container of the image.

    Attributes:
        container: Its name.
        environ: The environment of buildah.
    """

    container: str
    environ: Mapping[str, str]

    def command(self, *words: str, **variables: str) -> list[str]:
        """Returns a command in the container; its environment is that of the image and these variables."""
        stated = [f"--env={name}={value}" for name, value in variables.items()]
        return ["buildah", "run", *stated, self.container, "--", *words]

    def run(self, *words: str, **variables: str) -> str:
        """Runs a command in the container; returns what it prints."""
        done = subprocess.run(
            self.command(*words, **variables), env=self.environ, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def put(self, text: str, path: str) -> None:
        """Writes a file into the container."""
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(text)
            file.flush()
            command = ["buildah", "copy", self.container, file.name, path]
            subprocess.run(command, env=self.environ, check=True, capture_output=True)


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        subprocess.run([Path(__file__).with_name("build.sh"), folder, IMAGE], check=True)
        storage = {"CONTAINERS_STORAGE_CONF": f"{folder}/storage.conf", "BUILDAH_ISOLATION": "chroot"}
        environ = {**os.environ, **storage}
        made = subprocess.run(
            ["buildah", "from", IMAGE], env=environ, check=True, capture_output=True, text=True
        )
        yield Image(made.stdout.strip(), environ)


@pytest.fixture(scope="module")
def place(image: Image, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Elsewhere]:
    """A server of objects, the identity of a machine, and a pool of workers out of the image."""
    folder = tmp_path_factory.mktemp("elsewhere")
    with elsewhere(find_tools(), folder) as found:
        command = image.command("/opt/apache/beam/boot", "--worker_pool", **found.environ)
        with service([*OWN_NAMESPACE, *command], POOL_PORT, folder, image.environ):
            yield found._replace(pool=f"localhost:{POOL_PORT}")


def test_one_machine_scores_with_the_image(image):
    sample = f"{PACKAGES}/turnwise/pipeline/sample_data"
    image.run(
        "turnwise", "run", "--input", f"{sample}/conversations", "--judge=local", "--output", "/tmp/out"
    )
    assert image.run("turnwise", "status", "/tmp/out").endswith("conversations, exit status 0\n")


def test_the_image_holds_what_was_tested(image):
    lock = (Path(__file__).parents[2] / "requirements-test.lock").read_text()
    locked = {
        (canonicalize_name(name), number) for name, number in re.findall(r"^([\w.-]+)==(\S+)", lock, re.M)
    }
    listed = image.run("python3", "-m", "pip", "list", "--format=json", "--path", PACKAGES)
    installed = {(canonicalize_name(one["name"]), one["version"]) for one in json.loads(listed)}
    assert {name for name, _ in installed - locked} == {"turnwise"} and len(installed) > 100
    assert image.run("ls", "/opt/turnwise").split() == ["launch.py", "requirements-test.lock", "wheels"]


def test_workers_of_the_image_give_the_tables_of_one_process(place):
    tools = find_tools()
    job = place.sample()
    options = place.options(("--runner=PrismRunner", f"--prism_location={tools.prism}"))
    assert differences(place.run(job, (), "expected"), place.run(job, options, "found")) == []


def test_the_launcher_makes_a_job_of_the_image(image, place):
    template = f"gs://{BUCKET}/launches/job_object"
    google = {
        **{"runner": "DataflowRunner", "project": "some-project", "region": "europe-west4", "job_name": "j"},
        **{"temp_location": f"gs://{BUCKET}/tmp", "staging_location": f"gs://{BUCKET}/staging"},
        **{"template_location": template, "labels": '{"goog-dataflow-provided-template-type": "flex"}'},
    }
    places = {"input": f"gs://{BUCKET}/logs/dt={{date}}/", "output": f"gs://{BUCKET}/scores/dt={{date}}"}
    given = {**places, "date": "2026-11-21", "sdk_container_image": IMAGE}
    place.objects.put(Path(__file__), "logs/dt=2026-11-21/a.jsonl")
    image.put(json.dumps(google | given), "/parameters.json")
    image.run("/opt/google/dataflow/python_template_launcher", "/parameters.json", **place.environ)
    job = json.loads(place.objects.read("launches/job_object"))
    assert job["name"] == "j" and job["labels"] == {"goog-dataflow-provided-template-type": "flex"}
    (worker,) = job["environment"]["workerPools"]
    assert [each["containerImage"] for each in worker["sdkHarnessContainerImages"]] == [IMAGE]
    packages = [package["name"] for package in worker.get("packages", ())]
    assert packages == ["submission_environment_dependencies.txt"]  # a note of Beam, which nothing installs
