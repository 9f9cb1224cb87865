"""Writes a calibration into the directory of its run, and reads it."""

from pathlib import Path

import msgspec

from turnwise.pipeline.io.run_reader import CALIBRATION_FILE, RunDirectory
from turnwise.schemas.calibration import Calibration
from turnwise.schemas.jsonio import is_local


def calibration_json(found: Calibration) -> bytes:
    """Returns a calibration as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n"


def write_calibration(run: RunDirectory, found: Calibration) -> str:
    """Writes `calibration.json` whole into the directory of its run, and returns its path."""
    content = calibration_json(found)
    if not is_local(run.directory):
        from turnwise.pipeline.io.run_writer import publish, write_partial

        publish(run.directory, [(write_partial(run.directory, CALIBRATION_FILE, content), CALIBRATION_FILE)])
        return f"{run.directory.rstrip('/')}/{CALIBRATION_FILE}"
    path = Path(run.directory) / CALIBRATION_FILE
    new = path.with_name(f".{path.name}.new")
    new.write_bytes(content)
    new.replace(path)
    return str(path)
