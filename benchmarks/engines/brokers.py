"""Streams from Kafka and Pub/Sub whose process is killed: nothing is lost, and nothing counts twice."""

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.engines.cases import Case
from benchmarks.engines.engines import Tools
from benchmarks.engines.final_rows import check_same, final_rows
from benchmarks.engines.processes import free_port, process, service
from benchmarks.engines.runs import check, made_job, made_logs, started
from benchmarks.engines.streams import expected_rows, results, wait_for_rows
from tests.served import in_environment

_FEWEST_TURNS = 400
_TOPIC = "projects/some-project/topics/logs"
_SUBSCRIPTION = "projects/some-project/subscriptions/logs"
_CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:{controller}
listeners=PLAINTEXT://localhost:{port},CONTROLLER://localhost:{controller}
controller.listener.names=CONTROLLER
log.dirs={folder}
num.partitions=3
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


class Broker(NamedTuple):
    """A server of messages.

    Attributes:
        uri: What `--input` names.
        environ: Variables by which the command finds it.
        publish: Publishes messages.
    """

    uri: str
    environ: Mapping[str, str]
    publish: Callable[[Sequence[bytes]], None]


@contextmanager
def kafka(tools: Tools, folder: Path) -> Iterator[Broker]:
    """Starts one broker of Kafka in KRaft mode."""
    port, controller = free_port(), free_port()
    properties = folder / "server.properties"
    properties.write_text(_PROPERTIES.format(port=port, controller=controller, folder=folder / "kafka"))
    java = [str(tools.java), "-Xmx512m", "-cp", f"{tools.jars / 'kafka'}/*"]
    form = [*java, "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(properties)]
    with process(form, folder / "format.log", folder) as formatting:
        check(formatting.wait(300) == 0, (folder / "format.log").read_text())
    with service([*java, "kafka.Kafka", str(properties)], port, folder):
        address = f"localhost:{port}"
        uri = f"kafka://{address}/logs?group=turnwise&session.timeout.ms=6000"
        yield Broker(uri, {}, lambda messages: _produce(address, messages))


def _produce(address: str, messages: Sequence[bytes]) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": address, "queue.buffering.max.messages": 1_000_000})
    for message in messages:
        producer.produce("logs", message)
    check(producer.flush(300) == 0, "messages were not produced")


@contextmanager
def pubsub(tools: Tools, folder: Path) -> Iterator[Broker]:
    """Starts Google's own test server of Pub/Sub (`pstest`)."""
    from google.cloud import pubsub_v1

    port = free_port()
    environ = {"PUBSUB_EMULATOR_HOST": f"localhost:{port}"}
    with service([str(tools.servers), "pubsub", str(port)], port, folder), in_environment(environ):
        publisher, subscriber = pubsub_v1.PublisherClient(), pubsub_v1.SubscriberClient()
        publisher.create_topic(name=_TOPIC)
        subscription = {"name": _SUBSCRIPTION, "topic": _TOPIC, "ack_deadline_seconds": 10}
        subscriber.create_subscription(request=subscription)
        subscriber.close()

        def publish(messages: Sequence[bytes]) -> None:
            for sent in [publisher.publish(_TOPIC, message) for message in messages]:
                sent.result(300)

        yield Broker(f"pubsub:{_SUBSCRIPTION}", environ, publish)


def _run(
    broker: Callable[[Tools, Path], AbstractContextManager[Broker]], tools: Tools, folder: Path, turns: int
) -> str:
    logs = made_logs(folder, max(turns, _FEWEST_TURNS))
    expected = expected_rows(made_job(logs), folder)
    lines, output = logs.read_bytes().splitlines(), folder / "out"
    with broker(tools, folder) as place:
        place.publish(lines)
        command = [*made_job(place.uri), "--streaming", "--output", str(output)]
        with started(command, folder, place.environ) as run:
            wait_for_rows(run, output, lambda rows: results(rows) > 0)
            run.process.send_signal(signal.SIGKILL)
            run.wait()
        was_done = results(final_rows(output))
        check(was_done < len(lines), "killed after the last result: there was no backlog; take more turns")
        place.publish([*lines[:3], *lines[-3:]])
        with started(command, folder, place.environ) as run:
            wait_for_rows(run, output, lambda rows: len(rows) >= len(expected))
            run.process.send_signal(signal.SIGTERM)
            ended = run.wait()
    check(ended.status == 0, f"exit status {ended.status}: {ended.text[-3000:]}")
    check_same(expected, final_rows(output))
    return f"killed after {was_done} of {len(lines)} results: same final rows"


BROKERS = (
    Case("Kafka, killed", lambda tools: tools.lacks_jars("kafka"), lambda *given: _run(kafka, *given)),
    Case("Pub/Sub, killed", lambda tools: tools.lacks_servers(), lambda *given: _run(pubsub, *given)),
)
