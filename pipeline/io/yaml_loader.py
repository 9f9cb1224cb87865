"""Loads YAML safely, and refuses mappings that state a key twice."""

from typing import Any

import yaml

_MERGE = "tag:yaml.org,2002:merge"


class KeysOnce(yaml.SafeLoader):
    """A safe loader for which a key that stands twice in a mapping is an error."""

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
