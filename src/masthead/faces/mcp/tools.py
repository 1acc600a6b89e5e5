"""Tools for AI assistants, one for each operation of the public API, made from its rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Final

import msgspec
from mcp.types import Tool, ToolAnnotations

from masthead.engine.records.fields.file import File
from masthead.web.openapi.schemas import Schema, body_schema, parameter_schema
from masthead.web.v1.routes import Route, Shape

FILE_NAME: Final = "file_name"
"""The argument beside an uploaded file, which is base64."""
_ACTIONS: Final = {"GET": "view", "POST": "create", "PATCH": "update", "DELETE": "delete"}


class RouteTool(msgspec.Struct, frozen=True, dict=True):
    """One row of the public API as a tool."""

    name: str
    route: Route

    @cached_property
    def scopes(self) -> frozenset[str]:
        """Each of them admits a key."""
        return frozenset((self.route.scope, *self.route.other_scopes))

    @cached_property
    def path_names(self) -> tuple[str, ...]:
        return tuple(each[1:-1] for each in self.route.path.split("/") if each.startswith("{"))

    @cached_property
    def file_names(self) -> frozenset[str]:
        """The arguments that are files."""
        if not self.route.is_upload or self.route.body is None:
            return frozenset()
        declared = self.route.body.collection.by_name
        return frozenset(
            each for each in self.route.body.fields if isinstance(declared[each], File)
        )

    @cached_property
    def described(self) -> Tool:
        is_reading = self.route.method == "GET"
        return Tool(
            name=self.name,
            description=f"{self.route.summary}.",
            input_schema=self.input_schema,
            annotations=ToolAnnotations(
                read_only_hint=is_reading,
                destructive_hint=self.route.method == "DELETE",
                idempotent_hint=self.route.method != "POST",
                open_world_hint=self.route.calls_out,
            ),
        )

    @property
    def input_schema(self) -> Schema:
        """The arguments: what is in the path, in the query and in the body, by name."""
        schema: Schema = body_schema(self.route.body) if self.route.body else {"type": "object"}
        properties: Schema = {
            name: {"type": "string", "minLength": 1, "pattern": "^[^/]+$"}
            for name in self.path_names
        }
        for each in self.route.parameters:
            properties[each.name] = {**parameter_schema(each), "description": each.help}
        properties |= schema.pop("properties", {})
        for name in self.file_names:
            properties[name] = {
                "type": "string",
                "contentEncoding": "base64",
                "description": "The content of the file, in base64.",
            }
            properties[FILE_NAME] = {"type": "string", "minLength": 1, "maxLength": 255}
        # An example of the whole body would be wrong beside the arguments of the path.
        schema.pop("examples", None)
        required = [
            *self.path_names,
            *(each.name for each in self.route.parameters if each.required),
            *schema.pop("required", ()),
        ]
        return {
            **schema,
            "properties": properties,
            **({"required": required} if required else {}),
        }


def tools_of(table: Iterable[Route]) -> Mapping[str, RouteTool]:
    """PUT has none: it is PATCH for clients that can't send that."""
    tools = [RouteTool(tool_name(each), each) for each in table if each.method != "PUT"]
    by_name = {each.name: each for each in tools}
    if len(by_name) < len(tools):
        raise ValueError("Two operations of the public API have the same name.")
    return by_name


def tool_name(route: Route) -> str:
    """`posts_list`, `site_settings_view`, and for an operation with a word of its own that word:
    `mailings_pause`."""
    resource, *rest = route.path.strip("/").split("/")
    words = [each for each in rest if not each.startswith("{")]
    action = "list" if route.shape in (Shape.PAGE, Shape.LIST) else _ACTIONS[route.method]
    if words:
        is_of_one = rest[-1].startswith("{")
        action = f"{words[-1]}_{action}" if is_of_one else words[-1]
    return f"{resource}_{action}".replace("-", "_")


def arguments_in_body(tool: RouteTool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that is in neither the path nor the query: the API names what it ignores."""
    elsewhere = {*tool.path_names, *(each.name for each in tool.route.parameters)}
    return {name: value for name, value in arguments.items() if name not in elsewhere}
