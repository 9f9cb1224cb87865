"""An interpreter of JMESPath that notes which values of a record it reads."""

from typing import Any

from jmespath.visitor import TreeInterpreter


class TracingInterpreter(TreeInterpreter):
    """Notes what is read.

    Attributes:
        read: Id of each object and the key of it that was read.
        whole: Ids of what was turned into text, all of which counts as read.
    """

    def __init__(self) -> None:
        super().__init__()
        self.read: set[tuple[int, str]] = set()
        self.whole: set[int] = set()

    def visit_field(self, node: Any, value: Any) -> Any:
        """Returns the value of a key."""
        if isinstance(value, dict):
            self.read.add((id(value), node["value"]))
        return super().visit_field(node, value)

    def visit_value_projection(self, node: Any, value: Any) -> Any:
        """Returns what is found in all values of an object (`*`)."""
        base = self.visit(node["children"][0], value)
        if isinstance(base, dict):
            self.read.update((id(base), key) for key in base)
        return super().visit_value_projection(node, value)

    def visit_function_expression(self, node: Any, value: Any) -> Any:
        """Returns the result of a function."""
        if node["value"] == "to_string":
            self.whole.update(id(self.visit(child, value)) for child in node["children"])
        return super().visit_function_expression(node, value)
