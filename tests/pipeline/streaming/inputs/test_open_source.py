"""Which source is opened for what."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tables import stated
from turnwise.pipeline.streaming.inputs.base import SourceOptions
from turnwise.pipeline.streaming.inputs.files import DirectorySource
from turnwise.pipeline.streaming.inputs.open import CompositeSource, open_source
from turnwise.schemas.config import ConfigError

ROOT = Path(__file__).parents[4]
OPTIONS = SourceOptions(1000)

READER = """
import sys, time
from tests.sources import InMemoryCheckpoints
from turnwise.pipeline.streaming.inputs.open import SourceOptions, open_source
source = open_source(sys.argv[1:], SourceOptions(1000), InMemoryCheckpoints())
seen = 0
while not source.is_finished and seen < 3:
    for item in source.poll(10):
        print(item.source.rsplit("/")[-1], item.position, item.data.decode(), flush=True)
        seen += 1
    time.sleep(0.01)
"""


def test_paths_are_one_source(tmp_path, checkpoints):
    (tmp_path / "a.jsonl").write_text("[1]\n")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/b.jsonl").write_text("[2]\n")
    source = open_source(
        [str(tmp_path / "a.jsonl"), str(tmp_path / "deep"), str(tmp_path)], OPTIONS, checkpoints
    )
    assert isinstance(source, DirectorySource)
    assert [item.data for item in source.poll(9)] == [b"[1]", b"[2]"]
    source.close()


def test_standard_input_beside_a_directory(tmp_path):
    (tmp_path / "a.jsonl").write_text("[3]\n")
    command = [sys.executable, "-c", READER, "-", str(tmp_path)]
    done = subprocess.run(command, input="[1]\n[2]\n", cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert sorted(done.stdout.splitlines()) == ["a.jsonl 1 [3]", "stdin 1 [1]", "stdin 2 [2]"]
    assert (done.returncode, done.stderr) == (0, "")


def test_a_process_ends_though_its_input_is_open():
    command = [sys.executable, "-c", READER, "-"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=ROOT) as process:
        process.stdin.write("[1]\n[2]\n[3]\n")
        process.stdin.flush()
        assert process.wait(60) == 0
        assert (process.stdout.read(), process.stderr.read()) == (
            "stdin 1 [1]\nstdin 2 [2]\nstdin 3 [3]\n",
            "",
        )


@stated("refused", "inputs, said")
def test_what_cannot_be_opened(checkpoints, inputs, said):
    with pytest.raises(ConfigError, match=said):
        open_source(inputs, OPTIONS, checkpoints)


def test_what_was_opened_is_closed_when_another_input_is_refused(tmp_path, checkpoints):
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(ConfigError, match="is named"):
        open_source([str(tmp_path), "kafka://nothing"], OPTIONS, checkpoints)
    assert len(os.listdir("/dev/fd")) <= before


def test_several_inputs_are_one_source(tmp_path, checkpoints):
    pytest.importorskip("confluent_kafka")
    from confluent_kafka import Producer

    producer = Producer({"test.mock.num.brokers": 1, "log_level": 0})
    (broker,) = producer.list_topics(timeout=60).brokers.values()
    producer.produce("t", b"{}")
    producer.flush(10)
    source = open_source([f"kafka://{broker.host}:{broker.port}/t", str(tmp_path)], OPTIONS, checkpoints)
    assert isinstance(source, CompositeSource) and not source.is_finished
    source.close()
