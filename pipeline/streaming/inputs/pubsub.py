"""Reads a Google Cloud Pub/Sub subscription or topic."""

import contextlib
import os
from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from concurrent import futures
from threading import Lock
from typing import Any
from uuid import uuid4

from google.api_core.exceptions import PermissionDenied
from google.cloud.pubsub_v1 import SubscriberClient
from google.cloud.pubsub_v1.types import FlowControl

from turnwise.pipeline.settings.options import check_google
from turnwise.pipeline.streaming.inputs import base
from turnwise.schemas.config import ConfigError

_HOLD_SECONDS = 6 * 3600
_LEASE_SECONDS = 60
_HELD_MESSAGES = 50_000
_HELD_BYTES = 1 << 29
_REMEMBERED = 100_000
_START_SECONDS = 10.0
_ACK_SECONDS = 60
_DAY_SECONDS = 86_400
_REFUSED_WITHIN_SECONDS = 1.0
_IDS_PER_REQUEST = 1_000


class PubSubSource(base.StreamSource):
    """Reads the messages of a subscription. A message is acknowledged when it is settled.

    A position is the message id, so that a redelivered message has the same position. A topic is read from
    now on, through a temporary subscription that `close` deletes. PUBSUB_EMULATOR_HOST is supported.
    """

    def __init__(self, uri: str, max_record_bytes: int, timestamp_attribute: str | None = None) -> None:
        """Connects; raises ConfigError. The attribute holds the event time: RFC 3339 or milliseconds."""
        self._source, self._is_temporary = base.pubsub_name(uri)
        self._limit, self._attribute = max_record_bytes, timestamp_attribute
        self._lock = Lock()
        self._items: deque[base.SourceRecord] = deque()
        self._held: dict[int, Any] = {}
        self._settled: OrderedDict[int, None] = OrderedDict()
        if not os.environ.get("PUBSUB_EMULATOR_HOST"):
            check_google(f"--input {uri}")
        try:
            self._client: Any = SubscriberClient()
            self._subscription = self._source
            if self._is_temporary:
                # The service deletes it after a day without a reader.
                request = {
                    "name": f"projects/{self._source.split('/')[1]}/subscriptions/turnwise-{uuid4().hex}",
                    "topic": self._source,
                    "ack_deadline_seconds": _ACK_SECONDS,
                    "message_retention_duration": {"seconds": _DAY_SECONDS},
                    "expiration_policy": {"ttl": {"seconds": _DAY_SECONDS}},
                }
                self._client.create_subscription(request=request, retry=None, timeout=_START_SECONDS)
                self._subscription = str(request["name"])
            else:
                # The role of a subscriber does not include reading the settings of a subscription.
                with contextlib.suppress(PermissionDenied):
                    name = self._subscription
                    self._client.get_subscription(subscription=name, retry=None, timeout=_START_SECONDS)
        except Exception as error:
            raise ConfigError(_refusal(uri, error)) from None

        held = _HELD_BYTES, _HELD_MESSAGES, _HOLD_SECONDS
        flow = FlowControl(*held, max_duration_per_lease_extension=_LEASE_SECONDS)
        self._stream = self._client.subscribe(self._subscription, callback=self._take, flow_control=flow)
        # A service that refuses the streaming pull does so at once.
        try:
            self._stream.result(timeout=_REFUSED_WITHIN_SECONDS)
        except futures.TimeoutError:
            pass
        except Exception as error:
            self.close()
            raise ConfigError(_refusal(uri, error)) from None

    def _take(self, message: Any) -> None:
        """Receives a message; called in the library's threads."""
        position = base.message_position(message.message_id)
        with self._lock:
            if position in self._settled:
                message.ack()
                return
            earlier = self._held.get(position)
            self._held[position] = message
            if earlier is not None:
                earlier.drop()
                return
            at = base.attribute_time(message.attributes.get(self._attribute)) if self._attribute else None
            published = message.publish_time.timestamp()
            item = base.message_item(self._source, position, message.data, self._limit, at, published)
            self._items.append(item)

    def poll(self, limit: int) -> Sequence[base.SourceRecord]:
        """Returns the records that have arrived, at most `limit`; raises OSError if no more can be read."""
        with self._lock:
            items = [self._items.popleft() for _ in range(min(limit, len(self._items)))]
        if not items and self._stream.done():
            raise OSError(_refusal(self._source, self._stream.exception()))
        return items

    def settle(self, places: Iterable[tuple[str, int]]) -> None:
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
        """Returns the number of messages received and not yet polled, without those on the server."""
        return len(self._items)

    def close(self) -> None:
        """Releases unsettled messages for redelivery, or deletes a temporary subscription."""
        self._stream.cancel()
        with contextlib.suppress(Exception):
            self._stream.result()
        with contextlib.suppress(Exception):
            ids = [message.ack_id for message in self._held.values()]
            if self._is_temporary:
                self._client.delete_subscription(subscription=self._subscription)
                ids = []
            for start in range(0, len(ids), _IDS_PER_REQUEST):
                some = ids[start : start + _IDS_PER_REQUEST]
                request = {"subscription": self._subscription, "ack_ids": some, "ack_deadline_seconds": 0}
                self._client.modify_ack_deadline(request=request)
        with contextlib.suppress(Exception):
            self._client.close()


def _refusal(uri: str, error: BaseException | None) -> str:
    text = " ".join(str(getattr(error, "message", "") or error or "the stream has ended").split())
    return f"--input {uri}: {type(error).__name__}: {text[:500]}"
