"""Chooses the feeds of what `--input` names."""

import sys
from collections.abc import Sequence
from typing import NamedTuple

from pipeline.feeds import kafka_uri, subscription
from pipeline.feeds.composite import CompositeFeed
from pipeline.feeds.directory import DirectoryFeed
from pipeline.feeds.feed import Feed, ProgressBook
from pipeline.feeds.kafka import KafkaFeed
from pipeline.feeds.lines import LinesFeed
from pipeline.feeds.pubsub import PubSubFeed
from schemas.config import ConfigError

STANDARD_INPUT = "-"


class FeedOptions(NamedTuple):
    """What all feeds are told.

    Attributes:
        max_record_bytes: A larger record is given as an error.
        timestamp_attribute: Attribute of a Pub/Sub message that holds its event time; None: the record tells.
    """

    max_record_bytes: int
    timestamp_attribute: str | None = None


def open_feed(inputs: Sequence[str], options: FeedOptions, book: ProgressBook) -> Feed:
    """Opens what is read: `-`, `pubsub:…` and `kafka://…` each as a feed, all paths together as one.

    Raises:
        ConfigError: One of them cannot be read; those that were opened before it are closed.
    """
    if list(inputs).count(STANDARD_INPUT) > 1:
        raise ConfigError("--input: standard input (-) can be read once")
    paths = [name for name in inputs if not _is_stream(name)]
    feeds: list[Feed] = []
    try:
        if paths:
            feeds.append(DirectoryFeed(paths, book, options.max_record_bytes))
        for name in dict.fromkeys(inputs):
            if _is_stream(name):
                feeds.append(_open_stream(name, options, book))
    except BaseException:
        for feed in feeds:
            feed.close()
        raise
    return feeds[0] if len(feeds) == 1 else CompositeFeed(feeds)


def _is_stream(name: str) -> bool:
    return name == STANDARD_INPUT or name.startswith((subscription.SCHEME, kafka_uri.SCHEME))


def _open_stream(name: str, options: FeedOptions, book: ProgressBook) -> Feed:
    if name == STANDARD_INPUT:
        return LinesFeed(sys.stdin.buffer, "stdin", book, options.max_record_bytes)
    if name.startswith(kafka_uri.SCHEME):
        return KafkaFeed(name, options.max_record_bytes)
    return PubSubFeed(name, options.max_record_bytes, options.timestamp_attribute)
