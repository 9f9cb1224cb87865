"""Jobs that Beam's own client submits to a server of Dataflow's API."""

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from apache_beam.portability.api import beam_runner_api_pb2

from benchmarks.engines.cases import Case
from benchmarks.engines.dataflow_server import DataflowService, Json, dataflow_server
from benchmarks.engines.elsewhere import Elsewhere, elsewhere
from benchmarks.engines.engines import Tools
from benchmarks.engines.objects import BUCKET
from benchmarks.engines.runs import PATIENCE_S, Ended, check, check_equal, finished, started

_WORKER = Path(__file__).with_name("dataflow_worker.py")
_PAGE = "https://console.cloud.google.com/dataflow/jobs/europe-west4/job-1?project=some-project"
_FAILURE = 'Traceback (most recent call last):\n  File "x.py"\nOSError: [Errno 28] No space left on device'


class Cloud(NamedTuple):
    """A project with Dataflow and Cloud Storage.

    Attributes:
        place: Its objects and the identity of its machines.
        service: Its jobs.
        options: Options of a run on it.
    """

    place: Elsewhere
    service: DataflowService
    options: tuple[str, ...]

    def command(self, job: tuple[str, ...], name: str) -> tuple[str, ...]:
        """Returns the arguments of a run."""
        return (*job, "--output", f"gs://{BUCKET}/{name}", "--overwrite", *self.options)

    def run(self, job: tuple[str, ...], name: str) -> Ended:
        """Runs a job to the end of the command."""
        return finished(self.command(job, name), self.place.folder, self.place.environ)

    def graph(self) -> beam_runner_api_pb2.Pipeline:
        """Returns the pipeline of the last job, as it was staged."""
        return beam_runner_api_pb2.Pipeline.FromString(_staged(self.place, self.service.jobs[-1]))


def _staged(place: Elsewhere, job: Json) -> bytes:
    options = job["environment"]["sdkPipelineOptions"]["options"]
    return place.objects.read(options["pipelineUrl"].removeprefix(f"gs://{BUCKET}/"))


def _work(place: Elsewhere, job: Json) -> str:
    """Runs the staged pipeline in the environment of the workers; returns its error."""
    path = place.folder / "pipeline.pb"
    path.write_bytes(_staged(place, job))
    programs = place.home.parent / "environment/bin"
    environ = {"PATH": str(programs), **place.environ}
    command = [str(programs / "python"), str(_WORKER), str(path)]
    done = subprocess.run(
        command, cwd=place.home, env=environ, capture_output=True, text=True, timeout=PATIENCE_S
    )
    return done.stderr[-4000:] if done.returncode else ""


@contextmanager
def cloud(tools: Tools, folder: Path) -> Iterator[Cloud]:
    """Starts the servers of a project."""
    with elsewhere(tools, folder) as place:
        service = DataflowService(lambda job: _work(place, job))
        with dataflow_server(service) as endpoint:
            options = ("--runner=DataflowRunner", "--project=some-project", "--region=europe-west4")
            options += (f"--dataflow_endpoint={endpoint}", f"--temp_location=gs://{BUCKET}/temp")
            yield Cloud(place, service, (*options, "--sdk_container_image=example.com/turnwise:1"))


def _run(tools: Tools, folder: Path, turns: int) -> str:
    with cloud(tools, folder) as one:
        job = one.place.sample()
        done = one.run(job, "found")
        check(done.status == 0, f"exit status {done.status}: {done.text[-3000:]}")
        steps = {step.unique_name for step in one.graph().components.transforms.values()}
        check({"ParseConversations", "ScoreTurns", "MetricRows"} <= steps, f"steps: {sorted(steps)[:50]}")
        found = one.place.tables("found")
        check(sum(found["results"].values()) > 50, "results are missing")
        _fail(one, job)
        if turns:
            check_equal(one.place.run(job, (), "expected"), found)
            _refuse(one, job)
            _cancel(one, job)
            _interrupt(one, job)
    return "the staged graph gives the same tables; other ends are one line"


def _fail(one: Cloud, job: tuple[str, ...]) -> None:
    one.service.work = lambda _: _after_a_while(one, _FAILURE)
    _check_line(
        one.run(job, "failed"), f"the job failed: {_PAGE}: OSError: [Errno 28] No space left on device"
    )


def _after_a_while(one: Cloud, error: str, state: str = "JOB_STATE_RUNNING") -> str:
    time.sleep(2)
    one.service.state = state
    return error


def _refuse(one: Cloud, job: tuple[str, ...]) -> None:
    one.service.refusal = 403, "The caller does not have permission"
    page = _PAGE.replace("/job-1", "")
    _check_line(
        one.run(job, "refused"), f"the job could not be started: {page}: ", "does not have permission"
    )
    one.service.refusal = None


def _cancel(one: Cloud, job: tuple[str, ...]) -> None:
    one.service.work = lambda _: _after_a_while(one, "", "JOB_STATE_CANCELLED")
    _check_line(one.run(job, "cancelled"), f"the job failed: {_PAGE}: ", "CANCELLED")


def _interrupt(one: Cloud, job: tuple[str, ...]) -> None:
    """Ctrl-C ends the command; the job goes on, and ends itself."""
    before, is_over = len(one.service.jobs), []

    def wait(_: Json) -> str:
        while not is_over:
            time.sleep(0.1)
        return ""

    one.service.work = wait
    try:
        with started(one.command(job, "interrupted"), one.place.folder, one.place.environ) as run:
            while len(one.service.jobs) == before:
                check(run.process.poll() is None, run.text)
                time.sleep(0.1)
            time.sleep(1)
            run.process.send_signal(signal.SIGINT)
            ended = run.wait()
    finally:
        is_over.append(True)
    check(ended.status == 130 and "the job may go on" in ended.text, f"{ended.status}: {ended.text[-3000:]}")
    check(not any(request.startswith("PUT") for request in one.service.requests), "the job was cancelled")


def _check_line(ended: Ended, start: str, within: str = "") -> None:
    lines = ended.text.splitlines()
    # Beam prints the page of a job that it started.
    own = [line for line in lines if line != f"Console URL: {_PAGE}"]
    is_right = len(own) == 1 and own[0].startswith(f"turnwise: {start}") and within in own[0]
    check(ended.status == 1 and is_right, f"exit status {ended.status}: {ended.text[-3000:]}")


DATAFLOW = (Case("Dataflow's API", lambda tools: tools.lacks_servers(), _run),)
