"""How many processors a process may use: those of its container, not those of the machine."""

import os

import pytest

from turnwise.pipeline.settings.workers import usable_cores

HERE = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"cpu.max": "max 100000\n"}, HERE),
        ({"cpu.max": "100000 100000\n"}, 1),
        ({"pods/this/cpu.max": "199999 100000\n"}, 1),
        ({"pods/cpu.max": "100000 100000\n", "pods/this/cpu.max": "max 100000\n"}, 1),
        ({"pods/that/cpu.max": "100000 100000\n"}, HERE),
        ({"cpu/cpu.cfs_quota_us": "100000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, HERE),
        ({"cpu.max": "100000 0\n"}, HERE),
    ],
)
def test_limits_of_control_groups_count(files, cores, tmp_path):
    own = tmp_path / "own"
    own.write_text("4:memory:/other\n0::/pods/this\n")
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert usable_cores(tmp_path, own) == cores
    assert usable_cores(tmp_path / "nothing", tmp_path / "nothing") == HERE
