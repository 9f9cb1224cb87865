"""The pytest plugin. pydantic, msgspec and Beam are not imported before a test asks for a recording."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from turnwise.pipeline.python.testing.explanation import EXPLAINERS

if TYPE_CHECKING:
    from turnwise.pipeline.python.testing.recordings import Recording, Recordings, UnreadableRecording


_RECORDING = "turnwise_recording"
_MARKER = "turnwise_recordings"
_READ = pytest.StashKey[dict[tuple[tuple[str, ...], ...], "Recordings"]]()
_HELP = {
    "recordings": "recorded conversations, one test each: a file, directory or glob",
    "cases": "their eval cases: a file, directory, glob or address of a store",
    "config": "config file of turnwise: criteria, thresholds, judge",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options and the settings of the configuration file."""
    group = parser.getgroup("turnwise", "recorded conversations (turnwise)")
    for name, text in _HELP.items():
        group.addoption(f"--turnwise-{name}", action="append", metavar="PATH", default=None, help=text)
        parser.addini(f"turnwise_{name}", f"{text}; relative to this file", type="args", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Describes the marker, and lets pytest explain the differences of calls."""
    config.addinivalue_line(
        "markers",
        f"{_MARKER}(*paths, cases=None): recordings (and eval cases) of this test in place of those of the "
        "configuration; paths are relative to the test's file",
    )
    config.stash[_READ] = {}

    def explain(made: Sequence[object], expected: Sequence[object]) -> Sequence[str]:
        """Returns what pytest says of `assert made == expected`."""
        explained = config.hook.pytest_assertrepr_compare(config=config, op="==", left=made, right=expected)
        return next((lines for lines in explained if lines), [f"{made!r} == {expected!r}"])

    EXPLAINERS.append(explain)
    config.add_cleanup(lambda: EXPLAINERS.remove(explain))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Makes one test a recording of a function that uses the fixture `turnwise_recording`."""
    if _RECORDING not in metafunc.fixturenames:
        return
    from turnwise.pipeline.io.terminal import names_text
    from turnwise.pipeline.python.testing.recordings import UnusedCaseWarning, read_recordings
    from turnwise.schemas.config import ConfigError

    config = metafunc.config
    marker, folder = metafunc.definition.get_closest_marker(_MARKER), metafunc.definition.path.parent
    cases = _paths(config, "cases")
    if marker is None:
        recordings = _paths(config, "recordings")
    else:
        unknown = marker.kwargs.keys() - {"cases"}
        if unknown or not marker.args:
            what = f"unknown argument {min(unknown)}" if unknown else "no path"
            raise pytest.Collector.CollectError(f"{metafunc.definition.nodeid}: {_MARKER}: {what}")
        recordings = _below(folder, marker.args)
        if (given := marker.kwargs.get("cases")) is not None:
            cases = _below(folder, [given] if isinstance(given, str | Path) else given)
    if not recordings:
        raise pytest.Collector.CollectError(
            f"{metafunc.definition.nodeid} uses {_RECORDING}, and no recordings are named: use "
            f"--turnwise-recordings, turnwise_recordings in the configuration file, or the marker {_MARKER}"
        )
    key, known = (tuple(recordings), tuple(cases)), config.stash[_READ]
    try:
        read = known[key] = known.get(key) or read_recordings(recordings, cases, _config_path(config))
    except ConfigError as error:
        raise pytest.Collector.CollectError(f"turnwise: {error}") from None
    if read.unused:
        number = f"{len(read.unused)} eval case{'s have' if len(read.unused) > 1 else ' has'} no recording"
        metafunc.definition.warn(UnusedCaseWarning(f"{number}: {names_text(read.unused)}"))
    root = f"{config.rootpath}/"
    places = [f"unreadable:{recording.where.removeprefix(root)}" for recording in read.unreadable]
    values = [*read.recordings, *read.unreadable]
    metafunc.parametrize(_RECORDING, values, ids=[*read.ids(), *places], indirect=True)


def _paths(config: pytest.Config, name: str) -> list[str]:
    """Returns the paths of an option or, without it, of the configuration file."""
    given = config.getoption(f"turnwise_{name}")
    if given:
        return _below(config.invocation_params.dir, given)
    folder = config.inipath.parent if config.inipath else config.rootpath
    return _below(folder, config.getini(f"turnwise_{name}"))


def _below(folder: Path, paths: Sequence[object]) -> list[str]:
    return [path if "://" in path else str(folder / path) for path in map(str, paths)]


def _config_path(config: pytest.Config) -> str | None:
    """Returns the path of the config file; raises UsageError if there are several."""
    paths = _paths(config, "config")
    if len(paths) > 1:
        raise pytest.UsageError(f"turnwise_config: one file is needed, not {len(paths)}")
    return paths[0] if paths else None


@pytest.fixture
def turnwise_recording(request: pytest.FixtureRequest) -> "Recording":
    """A recorded conversation beside its eval case; a test runs once for each of them."""
    from turnwise.pipeline.python.testing.recordings import Recording

    recording: Recording | UnreadableRecording = request.param
    if not isinstance(recording, Recording):
        pytest.fail(f"{recording.where}: {recording.message}", pytrace=False)
    return recording


@pytest.fixture
def turnwise_check(pytestconfig: pytest.Config) -> Callable[..., None]:
    """A function that asserts that a recording passes by the criteria of the config file.

    Its arguments: a recording; `criteria`, `judge` and `allow_no_score` of `assert_conversation`. Criteria
    take the place of those of the file.
    """
    from turnwise.pipeline.python.evaluate import read_any_config
    from turnwise.pipeline.python.testing.assertion import assert_conversation

    path = _config_path(pytestconfig)

    def check(recording: "Recording", criteria: Mapping[str, Any] | None = None, **more: Any) -> None:
        __tracebackhide__ = True
        config: Any = path
        if path is not None and criteria is not None:
            config = read_any_config(path).model_dump(mode="json", exclude_unset=True, exclude={"criteria"})
        assert_conversation(recording.conversation, recording.case, criteria, config=config, **more)

    return check
