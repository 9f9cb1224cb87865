"""Runs a stream on a runner other than this process."""

from functools import partial

import apache_beam as beam
from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions

from turnwise.pipeline.batch.execution import made_pipeline, only_translates, run_to_the_end, translate
from turnwise.pipeline.io.case_book import case_places, worker_cases
from turnwise.pipeline.io.sinks.base import prepare_service
from turnwise.pipeline.settings.remote_workers import are_elsewhere, check_access
from turnwise.pipeline.settings.run import RunSettings, try_judge
from turnwise.pipeline.settings.workers import try_staging
from turnwise.pipeline.streaming.alerts import open_alert_sink
from turnwise.pipeline.streaming.beam import ConnectorOptions, read_arrivals
from turnwise.pipeline.streaming.beam.shared_files import SharedFiles
from turnwise.pipeline.streaming.build import build_stream
from turnwise.schemas.config import ConfigError
from turnwise.transforms.formats.registry import record_time


def run_distributed(settings: RunSettings, options: PipelineOptions) -> int:
    """Starts a stream with Beam's connectors. Most runners continue it until it is drained.

    Returns:
        Exit status 0.

    Raises:
        ConfigError: The options are wrong; nothing was run.
    """
    stream = settings.stream
    if stream.stop_after is not None or stream.max_run_time is not None:
        raise ConfigError(
            "--stop_after and --max_run_time end a stream in this process, with DirectRunner only"
        )
    if settings.max_failure_ratio is not None or settings.config.gate.rules:
        raise ConfigError(
            "--max_failure_ratio, --fail_on and the rules of the config's gate apply at the end of a run; a "
            "stream on this runner has no end"
        )
    if not only_translates(options):
        check_access(settings)
    if settings.config.alerts:
        open_alert_sink(stream.alerts, None)
    with made_pipeline(options) as pipeline:
        return _run(pipeline, settings, options)


def _run(pipeline: beam.Pipeline, settings: RunSettings, options: PipelineOptions) -> int:
    stream = settings.stream
    connectors = ConnectorOptions(record_time, settings.max_record_bytes, stream.timestamp_attribute)
    arrivals, unread = read_arrivals(pipeline, settings.input, connectors)
    on_prism = type(pipeline.runner).__name__ == "PrismRunner"
    sinks = SharedFiles(settings.output, settings.run.run_id, settings.place, in_bundles=on_prism)
    places = case_places(settings)
    if places is not None:
        places.read()
    cases = None if places is None else partial(worker_cases, places)
    build_stream(pipeline, arrivals, [unread], cases, settings, sinks)
    if only_translates(options):
        translate(pipeline)
        print("the pipeline was translated; nothing was run")
        return 0
    if are_elsewhere(pipeline.runner, options):
        try_staging(options)
    try_judge(settings)
    if settings.place:
        is_updated = options.view_as(GoogleCloudOptions).update
        prepare_service(settings.place._replace(is_new=not is_updated))
    run_to_the_end(pipeline)
    return 0
