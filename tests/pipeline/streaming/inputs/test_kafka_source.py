"""The real client library on its own mock broker."""

import os
import socket
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sources import settle, wait_for
from tests.tables import stated
from turnwise.pipeline.streaming.inputs.base import parse_kafka_uri, sasl_password
from turnwise.pipeline.streaming.inputs.kafka import KafkaSource, OffsetTracker
from turnwise.schemas.config import ConfigError

LIMIT = 1000
# The mock broker forgets a member that has left only when its session times out.
QUICK = "&session.timeout.ms=4500&heartbeat.interval.ms=200"


class Broker:
    """A cluster of one broker; it lives as long as its producer."""

    def __init__(self, producer):
        self.producer = producer
        found = producer.list_topics(timeout=60).brokers.values()
        self.address = ",".join(f"{broker.host}:{broker.port}" for broker in found)

    def uri(self, topic, group="g", more=""):
        return f"kafka://{self.address}/{topic}?group={group}{QUICK}{more}"

    def produce(self, topic, *values, partition=0):
        for value in values:
            self.producer.produce(topic, value, partition=partition)
        assert self.producer.flush(10) == 0


@pytest.fixture(scope="module")
def broker():
    library = pytest.importorskip("confluent_kafka")
    return Broker(library.Producer({"test.mock.num.brokers": 1, "log_level": 0}))


def test_the_next_process_goes_on_after_what_was_settled(broker):
    broker.produce("a", b'{"n":0}', b'{"n":1}', None, b"x" * 2 * LIMIT, b'{"n":4}')
    broker.produce("a", b'{"m":0}', partition=1)
    source = KafkaSource(broker.uri("a"), LIMIT)
    items = wait_for(source, 5)
    assert source.backlog() == 0
    first = [item for item in items if item.source == "a[0]"]
    assert [(item.position, item.data[:7]) for item in first] == [
        (0, b'{"n":0}'),
        (1, b'{"n":1}'),
        (3, b"xxxxxxx"),
        (4, b'{"n":4}'),
    ]
    assert [item.error is None for item in first] == [True, True, False, True]
    assert all(abs(item.published - time.time()) < 600 and item.event_time is None for item in items)
    settle(source, [item for item in items if item.position != 1])
    source.close()
    again = KafkaSource(broker.uri("a"), LIMIT)
    later = wait_for(again, 3)
    assert [(item.source, item.position) for item in later] == [("a[0]", 1), ("a[0]", 3), ("a[0]", 4)]
    settle(again, later)
    broker.produce("a", b'{"n":5}')
    assert [item.position for item in wait_for(again, 1)] == [5]
    again.close()


def test_a_consumer_that_joins_takes_partitions_over(broker):
    for partition in range(4):
        broker.produce("c", b"[1]", b"[2]", partition=partition)
    first = KafkaSource(broker.uri("c"), LIMIT)
    items = wait_for(first, 8)
    settle(first, [item for item in items if item.position == 0])
    second = KafkaSource(broker.uri("c"), LIMIT)
    taken, until = [], time.monotonic() + 40
    while len({item.source for item in taken}) < 4 and time.monotonic() < until:
        taken += [*first.poll(100), *second.poll(100)]
        time.sleep(0.01)
    assert {(item.source, item.position) for item in taken} == {(f"c[{n}]", 1) for n in range(4)}
    settle(first, items)
    settle(second, taken)
    first.close()
    second.close()
    broker.produce("c", b"[3]")
    last = KafkaSource(broker.uri("c"), LIMIT)
    again = []
    for _ in range(5):  # what a consumer settled after it had lost a partition comes again
        if ("c[0]", 2) not in again:
            again += [(item.source, item.position) for item in wait_for(last, 1)]
    assert ("c[0]", 2) in again and all(position > 0 for _, position in again)
    last.close()


@stated("broker", "uri, said")
def test_what_must_be_put_right(broker, uri, said):
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(ConfigError, match=said) as raised:
        KafkaSource(uri.format(address=broker.address, silent=silent.getsockname()[1]), LIMIT)
    assert "\n" not in str(raised.value)


@stated("uri", "uri, said")
def test_uris_that_are_refused(uri, said):
    with pytest.raises(ConfigError, match=said) as raised:
        parse_kafka_uri(uri)
    assert "hush" not in str(raised.value) and "pw" not in str(raised.value)


def test_a_uri_is_read():
    found = parse_kafka_uri("kafka://a:1,b:2/t.x?group=g&security.protocol=SASL_SSL&sasl.username=me")
    assert found == ("a:1,b:2", "t.x", "g", {"security.protocol": "SASL_SSL", "sasl.username": "me"})
    assert parse_kafka_uri("kafka://a:1/t").group == "turnwise"


@pytest.mark.parametrize("password", ["hush", None])
def test_the_password_comes_from_the_environment(password):
    if password:
        os.environ["KAFKA_SASL_PASSWORD"] = password
    try:
        assert sasl_password() == ({"sasl.password": password} if password else {})
    finally:
        os.environ.pop("KAFKA_SASL_PASSWORD", None)


@given(st.lists(st.integers(1, 5), max_size=30), st.data())
def test_committed_is_what_everything_before_is_settled(gaps, data):
    """The law of a commit: nothing before it is open, and it goes as far as that allows."""
    offsets = [sum(gaps[: n + 1]) - 1 for n in range(len(gaps))]
    tracker, settled, committed = OffsetTracker(), set(), 0
    given_offsets = []
    for offset in offsets:
        tracker.add(offset)
        given_offsets.append(offset)
        for one in data.draw(st.lists(st.sampled_from([*given_offsets, 999]), max_size=3)):
            tracker.settle(one)
            settled.add(one)
        moved = tracker.commit()
        still_open = [one for one in given_offsets if one not in settled]
        expected = still_open[0] if still_open else offset + 1
        assert moved == (expected if expected > committed else None)
        committed = moved or committed
