"""Parses Kafka URIs."""

import os
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from turnwise.schemas.config import ConfigError

SCHEME = "kafka:"
PASSWORD = "KAFKA_SASL_PASSWORD"
_GROUP = "turnwise"
_RESERVED = ("bootstrap.servers", "group.id", "enable.auto.commit", "enable.auto.offset.store")


class KafkaTopic(NamedTuple):
    """A topic and its connection.

    Attributes:
        brokers: Comma-separated `host:port`.
        group: Consumer group.
        properties: Other properties of the client library.
    """

    brokers: str
    topic: str
    group: str
    properties: dict[str, str]


def parse_kafka_uri(uri: str) -> KafkaTopic:
    """Parses `kafka://broker1:9092,broker2:9092/topic?group=NAME&property=value`.

    Raises:
        ConfigError: A part is missing, or the URI holds a secret.
    """
    parts = urlsplit(uri)
    topic = parts.path.strip("/")
    properties = dict(parse_qsl(parts.query, keep_blank_values=True))
    if not parts.netloc or not topic or "/" in topic:
        raise ConfigError("--input: a Kafka topic is named kafka://HOST:PORT[,HOST:PORT]/TOPIC[?group=NAME]")
    if "@" in parts.netloc or any("password" in key or "secret" in key for key in properties):
        raise ConfigError(f"--input: a Kafka password does not belong in the URI; set {PASSWORD}")
    for key in _RESERVED:
        if key in properties:
            raise ConfigError(f"--input: {key} cannot be set in a Kafka URI (the group: ?group=NAME)")
    return KafkaTopic(parts.netloc, topic, properties.pop("group", "") or _GROUP, properties)


def sasl_password() -> dict[str, str]:
    """Returns the password property from the environment; empty if it is not set."""
    password = os.environ.get(PASSWORD)
    return {"sasl.password": password} if password else {}
