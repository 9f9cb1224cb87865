"""A server loads the criteria of plugins when it starts."""

import os
import subprocess
import sys

from turnwise.schemas.registry import PLUGINS


def test_a_server_does_not_start_if_a_criterion_cannot_be_used(tmp_path):
    plugin = tmp_path / "broken.py"
    plugin.write_text("raise RuntimeError('no criterion')")
    # A process that has loaded nothing: those of `forked` may have loaded the criteria.
    command = [sys.executable, "-m", "turnwise", "serve", "--store", "sqlite:///s.db", "--port", "0"]
    environment = {**os.environ, PLUGINS: str(plugin)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2 and done.stdout == ""
    assert "broken.py: RuntimeError: no criterion" in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "s.db").exists()
