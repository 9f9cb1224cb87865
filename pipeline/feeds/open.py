"""tmp"""

import sys
from typing import NamedTuple

from pipeline.feeds.directory import DirectoryFeed
from pipeline.feeds.lines import LinesFeed


class FeedOptions(NamedTuple):
    max_record_bytes: int
    timestamp_attribute: str | None
    run_id: str


def open_feed(inputs, options, book):
    if inputs[0] == "-":
        return LinesFeed(sys.stdin.buffer, "stdin", book, options.max_record_bytes)
    return DirectoryFeed(list(inputs), book, options.max_record_bytes)
