"""Beam pipelines and their options, as all runs make them."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions


class BeamOptions(PipelineOptions):
    """Beam's options, each view of which is made once.

    Beam asks for several hundred views while it builds a pipeline, and would parse the command line for each.
    """

    def view_as(self, cls: Any) -> Any:
        """Returns a view on these options, which shares their values."""
        views = self.__dict__.setdefault("_views", {})
        if cls not in views:
            views[cls] = super().view_as(cls)
        return views[cls]

    def __getstate__(self) -> dict[str, Any]:
        """Leaves out the views: Beam copies the options, and a copy makes its own."""
        return {name: value for name, value in super().__getstate__().items() if name != "_views"}


@contextmanager
def made_pipeline(options: PipelineOptions) -> Iterator[beam.Pipeline]:
    """Makes a pipeline, and in the end removes the directory that Beam made for it.

    Beam removes it only when the pipeline has run, which one that is refused or only translated does not.
    """
    pipeline = beam.Pipeline(options=options)
    try:
        yield pipeline
    finally:
        shutil.rmtree(pipeline.local_tempdir, ignore_errors=True)
