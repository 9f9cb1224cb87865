"""The MCP server: the service as tools, over stdio or streamable HTTP."""

from functools import cache, partial
from importlib.metadata import version
from typing import Any

from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as ListedTool

from turnwise.pipeline.service.errors import ServiceError, message_error
from turnwise.pipeline.service.http import may_write
from turnwise.pipeline.service.http.workers import Workers
from turnwise.pipeline.service.mcp.tool import Tool
from turnwise.pipeline.service.mcp.tools import TOOLS
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.service.validation import check_lists
from turnwise.schemas.ces.result import AggregatedMetrics
from turnwise.schemas.ces.results import Evaluation, EvaluationResult
from turnwise.schemas.jsonio import JsonObject, dump_json
from turnwise.schemas.proto.message import Message, WireError
from turnwise.schemas.proto.schema import message_schema

_INSTRUCTIONS = (
    "Evaluations (test cases of an app: goldens and scenarios) and their results, as in Google's CES API. "
    "Names: projects/P/locations/L/apps/A/evaluations/E/results/R. Lists give summaries first; ask for more "
    "with readMask."
)

_DESCRIBED: dict[type[Message], str] = {
    AggregatedMetrics: "get_evaluation",
    Evaluation: "get_evaluation",
    EvaluationResult: "get_evaluation_result",
}
"""Messages that many answers hold, and the tool whose schema describes them."""


def mcp_server(service: Service, workers: Workers) -> "Server[Any]":
    """Returns an MCP server that lists and calls the tools."""

    async def list_tools(context: Any, params: Any) -> ListToolsResult:
        reads_only = _own(service, context).read_only
        possible = {name: tool for name, tool in TOOLS.items() if not (reads_only and tool.changes)}
        return ListToolsResult(tools=[listed_tool(name, tool) for name, tool in possible.items()])

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name[:100]}")
        try:
            work = partial(_call, _own(service, context), tool, params.arguments or {})
            value = await workers.run(work, changes=tool.changes)
        except ServiceError as error:
            return CallToolResult(content=[_text(error.to_value())], is_error=True)
        return CallToolResult(content=[_text(value)], structured_content=value)

    return Server(
        "turnwise",
        version=version("turnwise"),
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _own(service: Service, context: Any) -> Service:
    """Returns the service for a request; over stdio, it is this process's own."""
    return service if context.request is None else service.of(may_write(context.request))


def _call(service: Service, tool: Tool, arguments: JsonObject) -> JsonObject:
    check_lists(arguments)
    try:
        request = tool.request.from_value(arguments)
    except WireError as error:
        raise message_error(error) from None
    return tool.call(service, request)


def _text(value: JsonObject) -> TextContent:
    return TextContent(text=dump_json(value).decode())


@cache
def listed_tool(name: str, tool: Tool) -> ListedTool:
    """Returns the MCP description of a tool."""
    elsewhere = {kind: other for kind, other in _DESCRIBED.items() if other != name}
    return ListedTool(
        name=name,
        description=tool.description,
        input_schema=message_schema(tool.stated or tool.request, tool.use),
        output_schema=message_schema(tool.response, elsewhere=elsewhere),
        annotations=ToolAnnotations(
            read_only_hint=not tool.changes,
            destructive_hint=False,
            idempotent_hint=tool.is_idempotent,
            open_world_hint=False,
        ),
    )
