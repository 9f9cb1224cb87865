"""All MCP tools by name."""

from turnwise.pipeline.service.mcp.evaluation_tools import EVALUATION_TOOLS
from turnwise.pipeline.service.mcp.run_tools import RUN_TOOLS

TOOLS = EVALUATION_TOOLS | RUN_TOOLS
"""Tools by name."""
