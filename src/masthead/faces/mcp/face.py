"""The Model Context Protocol at `/mcp`: an AI assistant with an API key sees the tools that the
key's scopes reach. Loaded by the first request, and only where the extra `mcp` is installed."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import msgspec
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)

from masthead.base.config.settings import Settings
from masthead.base.errors import Invalid, MastheadError
from masthead.base.version import running_version
from masthead.faces.mcp import MCP_PATH
from masthead.faces.mcp.calls import Result, make_call, replayed
from masthead.faces.mcp.limits import admit
from masthead.faces.mcp.tools import tools_of
from masthead.identity.limits.windows import Windows
from masthead.web.answers import Answer, Stream
from masthead.web.asgi import ASGIApp, Receive, Send
from masthead.web.dispatch import Action, Dispatch, Route
from masthead.web.policy import JSON_BYTES, Body, BodyKind, Limit, Policy, Who
from masthead.web.request import Request, request_of
from masthead.web.v1.endpoint import key_of
from masthead.web.v1.errors import error_responder
from masthead.web.v1.routes import Route as V1Route

POLICY = Policy(who=Who.KEY, limit=Limit.MESSAGES, body=Body(BodyKind.JSON))
_INSTRUCTIONS = (
    "Tools for one publication: its posts, pages, members and settings. "
    "A created post is a draft unless `status` is `published`, which shows it to readers at once."
)


class McpFace:
    """`door` is the front door, through which each tool calls the public API. `elsewhere` answers
    what has no route."""

    def __init__(
        self,
        table: Iterable[V1Route],
        settings: Settings,
        windows: Windows,
        *,
        door: ASGIApp,
        elsewhere: Route,
    ) -> None:
        self._door = door
        self._windows = windows
        self._tools = tools_of(table)
        self._server: Server[Any] = Server(
            "Masthead",
            version=str(running_version()),
            instructions=_INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        self._refusal = error_responder(settings.error_codes)
        # No session is kept, so there is nothing to listen to (GET) or to end (DELETE).
        actions = {"POST": Action(self._answer, POLICY)}
        self.routes = Dispatch([Route(MCP_PATH, actions, self.error_answer)], fallback=elsewhere)

    async def error_answer(self, request: Request, error: MastheadError) -> Answer | Stream:
        return await self._refusal(request, error)

    async def _answer(self, request: Request) -> Stream:
        request.check_is_json()
        # Read here, by the rules for all bodies.
        body = await request.body()
        await admit(self._windows, key_of(request), request.address, body)
        return Stream(partial(self._serve, request, replayed(body, request.receive)))

    async def _serve(self, request: Request, receive: Receive, send: Send) -> None:
        """Each request has a manager of its own: it keeps no session, and ends with the answer."""
        manager = StreamableHTTPSessionManager(
            self._server, json_response=True, stateless=True, max_request_body_size=JSON_BYTES
        )
        async with manager.run():
            await manager.handle_request(request.scope, receive, send)

    async def _list_tools(
        self, context: Any, _parameters: PaginatedRequestParams | None
    ) -> ListToolsResult:
        scopes = key_of(request_of(context.request.scope)).scopes
        reached = [each for each in self._tools.values() if not scopes.isdisjoint(each.scopes)]
        return ListToolsResult(tools=[each.described for each in reached])

    async def _call_tool(self, context: Any, parameters: CallToolRequestParams) -> CallToolResult:
        tool = self._tools.get(parameters.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, "There is no such tool. List the tools again.")
        outer = request_of(context.request.scope)
        try:
            result = await make_call(self._door, outer, tool, parameters.arguments or {})
        except Invalid as error:
            refusal = await self.error_answer(outer, error)
            assert isinstance(refusal, Answer)
            result = Result(refusal.status, refusal.body)
        value = msgspec.json.decode(result.body) if result.body else {}
        return CallToolResult(
            content=[_text(result.body.decode() or "Done.")],
            structured_content=value if isinstance(value, dict) else {"items": value},
            is_error=result.status >= 400,
        )


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)
