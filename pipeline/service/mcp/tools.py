"""All MCP tools by name."""

from turnwise.pipeline.service.mcp import RUN_TOOLS
from turnwise.pipeline.service.mcp.evaluation_tools import EVALUATION_TOOLS

TOOLS = EVALUATION_TOOLS | RUN_TOOLS
"""Tools by name."""
