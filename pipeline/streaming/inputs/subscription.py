"""Finds, or makes, the Pub/Sub subscription that is read."""

import re
from typing import Any
from uuid import uuid4

from turnwise.pipeline.settings.extras import check_extra
from turnwise.schemas.config import ConfigError

SCHEME = "pubsub:"
_NAME = re.compile(r"projects/([^/\s]+)/(subscriptions|topics)/([^/\s]+)")
_START_SECONDS = 10.0
_ACK_SECONDS = 60
_DAY_SECONDS = 86_400


def pubsub_name(uri: str) -> tuple[str, bool]:
    """Returns the resource name in a URI, and whether it is a topic's; raises ConfigError."""
    match = _NAME.fullmatch(uri.removeprefix(SCHEME))
    if not match:
        raise ConfigError(
            f"--input {uri}: use pubsub:projects/P/subscriptions/S or pubsub:projects/P/topics/T"
        )
    return match.group(), match.group(2) == "topics"


def connect(uri: str) -> tuple[Any, str]:
    """Returns a subscriber client and the name of the subscription; of a topic, that of a new one.

    Raises:
        ConfigError: There is no such thing, no right to it, no credentials, no connection or no library.
    """
    name, is_topic = pubsub_name(uri)
    check_extra(f"--input {uri}", "turnwise[gcp]")
    from google.api_core.exceptions import PermissionDenied
    from google.cloud.pubsub_v1 import SubscriberClient

    try:
        client = SubscriberClient()
        if is_topic:
            return client, _new_subscription(client, name)
        client.get_subscription(subscription=name, retry=None, timeout=_START_SECONDS)
    except PermissionDenied as error:
        # A subscriber may read a subscription without the right to look at its settings.
        if is_topic:
            raise ConfigError(refusal(uri, error)) from None
    except Exception as error:
        raise ConfigError(refusal(uri, error)) from None
    return client, name


def _new_subscription(client: Any, topic: str) -> str:
    """Makes a subscription that the service deletes after a day without a reader."""
    name = f"projects/{topic.split('/')[1]}/subscriptions/turnwise-{uuid4().hex}"
    request = {
        "name": name,
        "topic": topic,
        "ack_deadline_seconds": _ACK_SECONDS,
        "message_retention_duration": {"seconds": _DAY_SECONDS},
        "expiration_policy": {"ttl": {"seconds": _DAY_SECONDS}},
    }
    client.create_subscription(request=request, retry=None, timeout=_START_SECONDS)
    return name


def refusal(uri: str, error: BaseException | None) -> str:
    """Returns in one line why Pub/Sub cannot be read."""
    text = " ".join(str(getattr(error, "message", "") or error or "the stream has ended").split())
    return f"--input {uri}: {type(error).__name__}: {text[:500]}"
