"""The options of a stream: what is asked of it, and mistakes that are said before anything runs."""

import pytest
from msgspec.structs import replace

from turnwise.pipeline.cli.run_options import parse_options
from turnwise.pipeline.settings.options import StreamSettings
from turnwise.schemas.run import StreamRules

NEEDED = ["--input", "in", "--output", "out"]


@pytest.mark.parametrize(
    ("given", "runner"),
    [([], "FnApiRunner"), (["--streaming"], None), (["--streaming", "--runner=PrismRunner"], "PrismRunner")],
)
def test_the_defaults_and_the_runner(given, runner):
    settings, options = parse_options([*NEEDED, *given])
    assert settings.is_streaming == ("--streaming" in given)
    assert settings.stream == StreamSettings(StreamRules())
    named = options.get_all_options()["runner"]
    assert named == runner if runner else named.endswith("DirectRunner")


def test_what_is_given_counts():
    given = "--streaming --session_gap=30 --window=60 --allowed_lateness=0 --pane_every=5 --max_run_time=1.5"
    given += " --stop_after=7 --alerts=file.jsonl --timestamp_attribute=when"
    settings, _ = parse_options([*NEEDED, *given.split()])
    rules = StreamRules(session_gap=30.0, window=60.0, allowed_lateness=0.0, pane_every=5)
    assert settings.stream.rules == rules
    assert replace(settings.stream, rules=rules) == StreamSettings(rules, 1.5, 7, "file.jsonl", "when")
