"""Plugins that are broken, raise, end the process or return nothing: one line, and never a pass.

A line of `broken.jsonl` and `misbehaving.jsonl` has the text of a `plugin`, which begins with START, and
`steps` as those of tests/pipeline/test_commands.py, each in a process of its own: `$RUN` scores a
conversation by one `criterion`. There may be more `files`. `says` stands in its scores, and a judge's client
was `closed`.
"""

import contextlib
import json
import os
from pathlib import Path

import pytest

from tests import forked
from tests.pipeline.conftest import Finished
from tests.pipeline.logs import log, write
from tests.pipeline.test_commands import check_step, write_files
from tests.tables import lines_beside, rows_of

LINES = lines_beside(__file__, "broken.jsonl") | lines_beside(__file__, "misbehaving.jsonl")
RUN = "run --input log.jsonl --output out --config config.json --plugin own.py"
START = """
from typing import ClassVar
from turnwise import Format, JudgedCriterion, JudgeKind, MeasuredCriterion, Score, SinkKind
from turnwise import register_format, register_judge, register_sink
from turnwise.pipeline.io.sinks import JsonLinesWriter
class Client:
    async def generate(self, request, count): NOW()
    async def aclose(self): open("closed", "w").close()
def leave(*given): raise SystemExit(0)
def fail(*given): raise RuntimeError("it\\nbroke")
def nothing(*given): return None
def connect(*given): return Client()
"""


@pytest.mark.parametrize("name", LINES)
def test_what_a_plugin_does(name, tmp_path):
    line = LINES[name]
    environ = {
        key: value for key, value in os.environ.items() if key not in ("GOOGLE_API_KEY", "GEMINI_API_KEY")
    }

    def turnwise(*argv):
        done = forked.run_text(argv, tmp_path, environ)
        return Finished(done.returncode, done.stdout, done.stderr, Path("out"))

    with contextlib.chdir(tmp_path):
        write_files(line.get("files", {}))
        Path("own.py").write_text(START + line["plugin"])
        write(Path("log.jsonl"), log())
        write(Path("config.json"), {"criteria": {line.get("criterion", "final_response_match_v2"): 0.5}})
        for step in line["steps"]:
            check_step(turnwise, {**step, "do": step["do"].replace("$RUN", RUN)})
        assert line["steps"][-1].get("exit") != 2 or not Path("out").exists()
        assert "says" not in line or line["says"] in json.dumps(rows_of(Path("out"), "scores"))
        assert "closed" not in line or Path("closed").exists()
