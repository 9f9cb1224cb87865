"""Google Cloud Pub/Sub."""

import contextlib
from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from concurrent import futures
from threading import Lock
from typing import Any

from turnwise.pipeline.streaming.inputs.messages import attribute_time, message_item, message_position
from turnwise.pipeline.streaming.inputs.source import SourceRecord
from turnwise.pipeline.streaming.inputs.subscription import connect, pubsub_name, refusal
from turnwise.schemas.config import ConfigError

_HOLD_SECONDS = 6 * 3600
_LEASE_SECONDS = 60
_HELD_MESSAGES = 50_000
_HELD_BYTES = 1 << 29
_REMEMBERED = 100_000
_REFUSED_WITHIN_SECONDS = 1.0
_IDS_PER_REQUEST = 1_000


class PubSubSource:
    """Gives the messages of a subscription; each is acknowledged when it is settled, not before.

    A position is the message's id, so that a message that is delivered again is the same one. Of a topic it
    gives what is published from now on, through a subscription of its own that it deletes in the end.
    PUBSUB_EMULATOR_HOST is honoured.
    """

    is_finished = False

    def __init__(self, uri: str, max_record_bytes: int, timestamp_attribute: str | None = None) -> None:
        """Connects and starts to receive.

        Args:
            uri: `pubsub:projects/P/subscriptions/S` or `pubsub:projects/P/topics/T`.
            max_record_bytes: A larger message is given as an error.
            timestamp_attribute: Attribute that holds the event time: RFC 3339 or milliseconds.

        Raises:
            ConfigError: There is no such thing, no right to it, no credentials, no connection or no library.
        """
        self._source, is_topic = pubsub_name(uri)
        self._limit, self._attribute = max_record_bytes, timestamp_attribute
        self._lock = Lock()
        self._items: deque[SourceRecord] = deque()
        self._held: dict[int, Any] = {}
        self._settled: OrderedDict[int, None] = OrderedDict()
        self._client, self._subscription = connect(uri)
        self._is_own = is_topic
        self._stream = self._receive()
        self._check_stream(uri)

    def _receive(self) -> Any:
        from google.cloud.pubsub_v1.types import FlowControl

        flow = FlowControl(
            max_bytes=_HELD_BYTES,
            max_messages=_HELD_MESSAGES,
            max_lease_duration=_HOLD_SECONDS,
            max_duration_per_lease_extension=_LEASE_SECONDS,
        )
        return self._client.subscribe(self._subscription, callback=self._take, flow_control=flow)

    def _check_stream(self, uri: str) -> None:
        """Raises ConfigError if the stream of messages is refused at once."""
        try:
            self._stream.result(timeout=_REFUSED_WITHIN_SECONDS)
        except futures.TimeoutError:
            return
        except Exception as error:
            self.close()
            raise ConfigError(refusal(uri, error)) from None

    def _take(self, message: Any) -> None:
        """Takes a message from one of the library's threads."""
        position = message_position(message.message_id)
        with self._lock:
            if position in self._settled:
                message.ack()
                return
            earlier = self._held.get(position)
            self._held[position] = message
            if earlier is not None:
                earlier.drop()
                return
            self._items.append(self._item(position, message))

    def _item(self, position: int, message: Any) -> SourceRecord:
        event_time = attribute_time(message.attributes.get(self._attribute)) if self._attribute else None
        published = message.publish_time.timestamp()
        return message_item(self._source, position, message.data, self._limit, event_time, published)

    def poll(self, limit: int) -> Sequence[SourceRecord]:
        """Returns what has arrived, at most `limit` items.

        Raises:
            OSError: The subscription cannot be read any further.
        """
        with self._lock:
            items = [self._items.popleft() for _ in range(min(limit, len(self._items)))]
        if not items and self._stream.done():
            raise OSError(refusal(self._source, self._stream.exception()))
        return items

    def last_items(self) -> Sequence[SourceRecord]:
        """Returns nothing: what was not polled will be delivered again."""
        return []

    def unread(self) -> Sequence[str]:
        """Returns nothing: messages arrive whole."""
        return ()

    def settle(self, places: Iterable[tuple[str, int]]) -> None:
        """Acknowledges messages."""
        with self._lock:
            for source, position in places:
                if source == self._source:
                    self._settled[position] = None
                    message = self._held.pop(position, None)
                    if message is not None:
                        message.ack()
            while len(self._settled) > _REMEMBERED:
                self._settled.popitem(last=False)

    def backlog(self) -> int | None:
        """Returns how many messages were received and not polled; of those on the server nobody tells."""
        return len(self._items)

    def close(self) -> None:
        """Acknowledges what was settled, gives the rest back, and deletes a subscription of its own."""
        self._stream.cancel()
        with contextlib.suppress(Exception):
            self._stream.result()
        with contextlib.suppress(Exception):
            self._release_messages()
        with contextlib.suppress(Exception):
            self._client.close()

    def _release_messages(self) -> None:
        if self._is_own:
            self._client.delete_subscription(subscription=self._subscription)
            return
        ids = [message.ack_id for message in self._held.values()]
        for start in range(0, len(ids), _IDS_PER_REQUEST):
            some = ids[start : start + _IDS_PER_REQUEST]
            request = {"subscription": self._subscription, "ack_ids": some, "ack_deadline_seconds": 0}
            self._client.modify_ack_deadline(request=request)
