"""Loads YAML safely: a key that stands twice in a mapping is an error, and aliases stand for little."""

from typing import Any

import yaml

MOST_ALIASED = 100_000
"""The largest number of values and characters that the aliases of a file stand for."""

_MERGE = "tag:yaml.org,2002:merge"


class CheckedLoader(yaml.SafeLoader):
    """A safe loader that refuses keys that stand twice in a mapping, and aliases that stand for too much."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._size = self._aliased = 0
        self._sizes: dict[str, int] = {}

    def compose_document(self) -> yaml.Node | None:
        """Composes a document, which has anchors of its own."""
        self._sizes.clear()
        return super().compose_document()

    def compose_node(self, parent: Any, index: Any) -> yaml.Node | None:
        """Composes a node.

        Raises:
            yaml.MarkedYAMLError: It is an alias of what it stands in, or aliases stand for too much.
        """
        event, before = self.peek_event(), self._size
        if isinstance(event, yaml.AliasEvent):
            self._count(event)
        elif isinstance(event, yaml.ScalarEvent):
            self._size += 1 + len(event.value)
        else:
            self._size += 1
        node = super().compose_node(parent, index)
        if not isinstance(event, yaml.AliasEvent) and event.anchor is not None:
            self._sizes[event.anchor] = self._size - before
        return node

    def _count(self, event: yaml.AliasEvent) -> None:
        if event.anchor in self.anchors and event.anchor not in self._sizes:
            said = f"the alias *{event.anchor[:60]} stands in what it names"
            raise yaml.MarkedYAMLError(problem=said, problem_mark=event.start_mark)
        size = self._sizes.get(event.anchor, 0)
        self._size += size
        self._aliased += size
        if self._aliased > MOST_ALIASED:
            said = f"aliases stand for more than {MOST_ALIASED:,} values and characters: write them out"
            raise yaml.MarkedYAMLError(problem=said, problem_mark=event.start_mark)

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """Composes a mapping.

        Raises:
            yaml.MarkedYAMLError: A key stands in it twice.
        """
        node = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                if key.value in seen:
                    said = f"the key {key.value[:60]!r} stands twice"
                    raise yaml.MarkedYAMLError(problem=said, problem_mark=key.start_mark)
                seen.add(key.value)
        return node
