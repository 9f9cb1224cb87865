"""Runs a pipeline that was staged for Dataflow, as its workers would, in this one process.

Usage: python dataflow_worker.py PIPELINE_PB
"""

import sys
from pathlib import Path

from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability.api import beam_runner_api_pb2
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner


def main() -> None:
    pipeline = beam_runner_api_pb2.Pipeline.FromString(Path(sys.argv[1]).read_bytes())
    for environment in pipeline.components.environments.values():
        # The image is named there, with what is to be installed in it.
        environment.urn, environment.payload = "beam:env:embedded_python:v1", b""
        del environment.dependencies[:]
    result = FnApiRunner().run_via_runner_api(pipeline, PipelineOptions([]))
    result.wait_until_finish()


if __name__ == "__main__":
    main()
