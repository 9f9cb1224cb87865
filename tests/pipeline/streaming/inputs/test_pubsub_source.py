"""The real client library against a server of the tests."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import forked
from tests.sources import settle, wait_for
from tests.tables import stated
from turnwise.pipeline.streaming.inputs.base import attribute_time, message_position
from turnwise.pipeline.streaming.inputs.pubsub import PubSubSource
from turnwise.schemas.config import ConfigError

pubsub_v1 = pytest.importorskip("google.cloud.pubsub_v1")
if os.name == "nt":
    pytest.skip("the server takes a signal", allow_module_level=True)

ROOT = Path(__file__).parents[4]
TOPIC = "projects/p/topics/t"
LIMIT = 1000

CONSUMER = """
import sys, time
from turnwise.pipeline.streaming.inputs.pubsub import PubSubSource
source = PubSubSource(sys.argv[1], 1000)
while True:
    for item in source.poll(100):
        if b'"keep"' in item.data:
            source.settle([(item.source, item.position)])
        print(item.data.decode(), flush=True)
    time.sleep(0.01)
"""


@pytest.fixture(scope="module")
def service():
    """The server; the environment leads all clients to it."""
    earlier = os.environ.get("PUBSUB_EMULATOR_HOST")
    command = [sys.executable, str(ROOT / "tests/pubsub_server.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        os.environ["PUBSUB_EMULATOR_HOST"] = f"127.0.0.1:{int(process.stdout.readline())}"
        publisher = pubsub_v1.PublisherClient()
        publisher.create_topic(name=TOPIC)
        process.publish = lambda data, **attributes: publisher.publish(TOPIC, data, **attributes).result(10)
        process.subscriber = pubsub_v1.SubscriberClient()
        yield process
        process.subscriber.close()
        process.terminate()
    if earlier is None:
        del os.environ["PUBSUB_EMULATOR_HOST"]
    else:
        os.environ["PUBSUB_EMULATOR_HOST"] = earlier


@pytest.fixture
def subscription(service, request):
    name = f"projects/p/subscriptions/{abs(hash(request.node.name))}"
    service.subscriber.create_subscription(name=name, topic=TOPIC)
    yield name
    service.subscriber.delete_subscription(subscription=name)


def is_waiting(service, subscription):
    """Whether messages wait on the server that nobody has acknowledged."""
    service.send_signal(signal.SIGUSR1)
    time.sleep(0.2)
    return bool(service.subscriber.pull(subscription=subscription, max_messages=9).received_messages)


def test_a_message_is_acknowledged_when_it_is_settled(service, subscription):
    source = PubSubSource(f"pubsub:{subscription}", LIMIT, timestamp_attribute="at")
    service.publish(b'{"n":1}', at="2026-01-02T03:04:05.5Z")
    service.publish(b'{"n":2}', at="1767323045500")
    service.publish(b"x" * 2 * LIMIT, at="yesterday")
    items = wait_for(source, 3)
    by_time = sorted(items, key=lambda item: item.position)
    assert [item.event_time for item in by_time] == [1767323045.5, 1767323045.5, None]
    assert [item.data[:7] for item in by_time] == [b'{"n":1}', b'{"n":2}', b"xxxxxxx"]
    assert [item.error is None for item in by_time] == [True, True, False]
    assert all(item.source == subscription and abs(item.published - time.time()) < 600 for item in items)
    settle(source, by_time[1:])
    source.close()
    again = PubSubSource(f"pubsub:{subscription}", LIMIT)
    (redelivered,) = wait_for(again, 1)
    assert redelivered[:3] == by_time[0][:3], "given back at once, under the same position"
    settle(again, [redelivered])
    again.close()
    assert not is_waiting(service, subscription)


def test_what_is_delivered_twice_is_given_once(service, subscription):
    source = PubSubSource(f"pubsub:{subscription}", LIMIT)
    service.publish(b"{}")
    (item,) = wait_for(source, 1)
    service.send_signal(signal.SIGUSR1)
    assert wait_for(source, 1, seconds=1) == [], "it is being worked on"
    settle(source, [item])
    time.sleep(0.5)
    assert not is_waiting(service, subscription), "the later delivery was acknowledged"
    assert wait_for(source, 1, seconds=0.5) == []
    source.close()


def test_a_consumer_that_is_killed_loses_nothing(service, subscription):
    """Pub/Sub delivers at least once: what the consumer acknowledged last may come again, and twice."""
    command = [sys.executable, "-c", CONSUMER, f"pubsub:{subscription}"]
    wanted = {f'{{"n":{number}}}'.encode() for number in range(0, 10, 2)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as consumer:
        lines = set()
        for number in range(10):
            text = '{"n":%d,"keep":1}' if number % 2 else '{"n":%d}'
            service.publish((text % number).encode())
        while len(lines) < 10:
            lines.add(consumer.stdout.readline())
        consumer.send_signal(signal.SIGKILL)
    source, items = PubSubSource(f"pubsub:{subscription}", LIMIT), []
    for _ in range(60):
        if wanted <= {item.data for item in items}:
            break
        # The server may still lease messages to the stream of the killed consumer.
        service.send_signal(signal.SIGUSR1)
        items += wait_for(source, 1, seconds=2)
    assert wanted <= {item.data for item in items}
    settle(source, items)
    while is_waiting(service, subscription):
        settle(source, wait_for(source, 1, seconds=0.5))
    source.close()


def test_a_topic_is_read_through_a_subscription_of_its_own(service):
    def own():
        found = service.subscriber.list_subscriptions(project="projects/p")
        return [one.name for one in found if "/turnwise-" in one.name]

    source = PubSubSource(f"pubsub:{TOPIC}", LIMIT)
    (name,) = own()
    service.publish(b'{"n":1}')
    (item,) = wait_for(source, 1)
    assert (item.source, item.data) == (TOPIC, b'{"n":1}')
    settle(source, [item])
    source.close()
    assert own() == [] and name


def test_a_subscription_that_goes_away_ends_the_source(service):
    name = "projects/p/subscriptions/short-lived"
    service.subscriber.create_subscription(name=name, topic=TOPIC)
    source = PubSubSource(f"pubsub:{name}", LIMIT)
    service.subscriber.delete_subscription(subscription=name)
    with pytest.raises(OSError, match="NotFound"):
        wait_for(source, 1)
    source.close()


@stated("refused", "uri, said")
def test_what_must_be_put_right(service, uri, said):
    with pytest.raises(ConfigError, match=said) as raised:
        PubSubSource(uri, LIMIT)
    assert "\n" not in str(raised.value)


def test_nobody_has_credentials(tmp_path):
    program = "import sys; from turnwise.pipeline.streaming.inputs.pubsub import PubSubSource\n"
    program += (
        "try: PubSubSource('pubsub:projects/p/subscriptions/s', 1)\nexcept ValueError as e: print(repr(e))"
    )
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "NO_GCE_CHECK": "true"}
    command = [sys.executable, "-c", program]
    said = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True).stdout
    assert said.startswith("ConfigError(") and "gcloud auth application-default login" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("text", ["a", "", "-1", "\u0661", "1.5", "\ud800"])
def test_other_ids_are_digested(text):
    assert 0 < message_position(text) < 2**63 and message_position(text) == message_position(text)


@stated("time", "text, seconds")
def test_times_in_attributes(text, seconds):
    assert attribute_time(text) == seconds


def test_a_stream_that_is_killed_counts_every_message_once_and_names_its_alert_once(
    service, subscription, tmp_path
):
    alerts = "projects/p/topics/alerts"
    pubsub_v1.PublisherClient().create_topic(name=alerts)
    service.subscriber.create_subscription(name="projects/p/subscriptions/alerts", topic=alerts)
    rule = {"name": "low", "criterion": "response_match_score", "measure": "pass_rate", "below": 0.9}
    config = {"criteria": {"response_match_score": 0.9}, "alerts": [{**rule, "min_count": 5}]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    command = ["run", "--streaming", "--input", f"pubsub:{subscription}"]
    command += ["--config", tmp_path / "config.json", "--output", tmp_path / "out"]
    command += ["--alerts", f"pubsub:{alerts}", "--pane_every", "1"]
    for numbers, stop in ((range(40), signal.SIGKILL), (range(40, 60), signal.SIGTERM)):
        for number in numbers:
            service.publish(conversation(number))
        service.publish(b"{broken")
        process = forked.Process(command, ROOT)
        until = time.monotonic() + 60
        while len(results(tmp_path)) <= numbers[-1] and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(stop)
        process.wait(60)
        service.send_signal(signal.SIGUSR1)
    assert sorted(results(tmp_path)) == sorted(f"c{number}" for number in range(60))
    counts = json.loads((tmp_path / "out/run.json").read_text())["counts"]
    assert (counts["records"], counts["results"], counts["rejected_records"]) == (62, 60, 2)
    rows = map(json.loads, (tmp_path / "out/metrics_by_app_version.jsonl").open())
    assert [row["conversations"] for row in rows if row["criterion"] == "verdict"] == [60]
    pulled = service.subscriber.pull(subscription="projects/p/subscriptions/alerts", max_messages=9)
    sent = [found.message.attributes for found in pulled.received_messages]
    # A kill between sending an alert and noting it lets the next process send it again.
    assert {alert["rule"] for alert in sent} == {"low"} and len({alert["name"] for alert in sent}) == 1


def conversation(number):
    turn = {"user": "Hi", "agent": "Yes.", "expected": {"response": "No, I am sorry."}}
    value = {"conversation_id": f"c{number}", "app_version": "v1", "turns": [turn]}
    return json.dumps({**value, "start_time": "2026-11-20T08:00:00Z"}).encode()


def results(directory):
    paths = directory.glob("out/results-*.jsonl")
    lines = [line for path in paths for line in path.read_bytes().splitlines(keepends=True)]
    whole = [json.loads(line) for line in lines if line.endswith(b"\n")]
    return [row["displayName"].rsplit(" - ", 1)[-1] for row in whole]
