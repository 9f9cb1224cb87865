"""Finds what a folder of an ADK agent holds: recordings, eval sets and the config of `adk eval`."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from turnwise.pipeline.io.records import SUFFIXES
from turnwise.pipeline.io.walking import files_at
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import is_local

_ADK, _HISTORY, _SESSIONS = ".adk", "eval_history", "session.db"
_CASES, _RESULT, _SESSION = (".evalset.json", ".test.json"), ".evalset_result.json", ".session.json"
_CONFIG = "test_config.json"
_AGENT = ("agent.py", "root_agent.yaml", "__init__.py")


class AgentFolder(NamedTuple):
    """What the folder of an agent holds, by the names that google-adk gives.

    Attributes:
        logs: Eval results and stored sessions.
        cases: Eval sets.
        configs: `test_config.json` beside eval sets, or in the folder.
        not_read: Recordings in a form that is not read.
    """

    logs: list[str]
    cases: list[str]
    configs: list[str]
    not_read: list[str]


class AgentInputs(NamedTuple):
    """Inputs of a run, with agent folders in place of their paths.

    Attributes:
        logs: Paths of logs.
        cases: Paths of eval cases.
        config: Path of the config; None: none is named or found.
        not_read: Recordings in a form that is not read.
    """

    logs: list[str]
    cases: list[str]
    config: str | None
    not_read: list[str]


def agent_folder(path: str) -> AgentFolder | None:
    """Returns what the folder of an agent holds; None: the path is none.

    It is one if it holds `.adk`, or the agent's code and an eval set.
    """
    if not is_local(path) or not os.path.isdir(path):
        return None
    place = Path(path)
    is_agent = (place / _ADK).is_dir() or any((place / name).is_file() for name in _AGENT)
    if not is_agent:
        return None
    below = sorted(str(file) for file in place.rglob("*.json") if file.is_file())
    cases = [name for name in below if name.endswith(_CASES)]
    logs = [name for name in below if name.endswith(_SESSION)]
    logs += [str(file) for file in sorted((place / _ADK / _HISTORY).glob(f"*{_RESULT}"))]
    stored = [str(file) for file in (place / _ADK / _SESSIONS,) if file.is_file()]
    logs += [name for name in stored if name.endswith(SUFFIXES)]
    if not (place / _ADK).is_dir() and not any(name.endswith(_CASES[0]) for name in cases):
        return None
    homes = dict.fromkeys([*(os.path.dirname(name) for name in cases), path])
    configs = [str(file) for home in homes if (file := Path(home) / _CONFIG).is_file()]
    return AgentFolder(logs, cases, configs, [name for name in stored if not name.endswith(SUFFIXES)])


def agent_inputs(logs: Sequence[str], cases: Sequence[str], config: str | None) -> AgentInputs:
    """Returns the inputs of a run: of agent folders among the logs what they hold.

    Eval sets of a folder are cases, unless cases are named; its `test_config.json` is the config, unless one
    is named, as in `adk eval`.

    Raises:
        ConfigError: A folder holds no recording, or several configs.
    """
    found = AgentInputs([], [*cases], config, [])
    configs: list[str] = []
    for path in logs:
        folder = agent_folder(path)
        if folder is None:
            found.logs.append(path)
            continue
        found.not_read.extend(folder.not_read)
        if not folder.logs:
            raise ConfigError(_no_recording(path, folder))
        found.logs.extend(folder.logs)
        found.cases.extend(() if cases else folder.cases)
        configs += folder.configs
    if config is None and len(set(configs)) > 1:
        raise ConfigError(
            f"several configs are found, name one with --config: {', '.join(sorted(set(configs)))}"
        )
    return found._replace(config=config or next(iter(configs), None))


def _no_recording(path: str, folder: AgentFolder) -> str:
    also = f"; {', '.join(folder.not_read)} is not read" if folder.not_read else ""
    where = f"{_ADK}/{_HISTORY}/*{_RESULT} and *{_SESSION}"
    return (
        f"--input {path}: the folder of an ADK agent without a recording ({where}); run adk eval first{also}"
    )


def without_configs(paths: Sequence[str]) -> list[str]:
    """Returns paths with the files of agent folders, but for their configs, in place of the folders."""
    opened: list[str] = []
    for path in paths:
        if agent_folder(path) is None:
            opened.append(path)
        else:
            opened += [seen.path for seen in files_at(path) if os.path.basename(seen.path) != _CONFIG]
    return opened
