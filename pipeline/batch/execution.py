"""Runs pipelines to their end, or only translates them."""

import logging

import apache_beam as beam
from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions, TestOptions
from apache_beam.runners.runner import PipelineResult

from turnwise.pipeline.batch.collector import calm_collector
from turnwise.pipeline.batch.remote import RemoteRunError, run_remotely
from turnwise.pipeline.io.terminal import complain
from turnwise.pipeline.settings.remote_workers import is_in_process
from turnwise.schemas.config import ConfigError
from turnwise.transforms.judging.backends.base import AuthenticationError
from turnwise.transforms.judging.routes import JUDGING
from turnwise.transforms.judging.setup import WAITING, close_judges


def run_to_the_end(pipeline: beam.Pipeline) -> PipelineResult:
    """Runs a pipeline and waits for its end.

    Raises:
        RemoteRunError: Workers outside this process failed.
        AuthenticationError: The judge was refused.
        ConfigError: A setting cannot be used.
        OSError: A disk or network failed.
        KeyboardInterrupt: A signal ended the run.
        SystemExit: Code of a plugin raised it.
    """
    calm_collector()
    # Beam also logs, with a traceback, every error that it raises.
    for name in ("common", "direct.executor"):
        logging.getLogger(f"apache_beam.runners.{name}").setLevel(logging.CRITICAL)
    try:
        if not is_in_process(pipeline.runner):
            return run_remotely(pipeline)
        result = pipeline.run()
        result.wait_until_finish()
        return result
    except RemoteRunError:
        raise
    except AuthenticationError as error:
        close_judges()  # what is in flight is refused, too: nobody is told to wait for it
        raise AuthenticationError(_own_words(error)) from None
    except ConfigError as error:
        raise ConfigError(_own_words(error)) from None
    except OSError as error:
        raise OSError(_own_words(error)) from None
    except RuntimeError as error:
        if "KeyboardInterrupt" in str(error):
            raise KeyboardInterrupt from None
        # Beam wraps an error that it cannot recreate.
        cause = error.__cause__ or error.__context__
        raise (cause if isinstance(cause, OSError | SystemExit) else error) from None
    finally:
        if JUDGING.asking:
            complain(WAITING)
        close_judges()


def _own_words(error: Exception) -> str:
    """Returns the message of an error without the step that Beam appends."""
    return str(error).partition(" [while running")[0]


def only_translates(options: PipelineOptions) -> bool:
    """Returns whether the pipeline is only translated for a runner, not run."""
    is_template = options.view_as(GoogleCloudOptions).template_location is not None
    return is_template or bool(options.view_as(TestOptions).dry_run)


def translate(pipeline: beam.Pipeline) -> None:
    """Translates a pipeline without running it. Only Dataflow's runner does this in `run`."""
    if type(pipeline.runner).__name__ == "DataflowRunner":
        pipeline.run()
    else:
        pipeline.to_runner_api()
