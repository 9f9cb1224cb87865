"""The engine of Beam for streams in one process."""

from typing import Any

import apache_beam as beam
from apache_beam.pvalue import PCollection
from apache_beam.testing.test_stream import TestStream

from turnwise.pipeline.batch.execution import BeamOptions

TestStream.__test__ = False


def new_pipeline() -> beam.Pipeline:
    """Returns an empty pipeline."""
    return beam.Pipeline(runner="BundleBasedDirectRunner", options=BeamOptions(["--streaming"]))


def arriving(root: beam.Pipeline, stream: TestStream) -> "PCollection[Any]":
    """Adds what happens in a stream, and its end, to a pipeline."""
    return root | "Stream" >> stream.advance_watermark_to_infinity()
