"""The API's description matches the service: routes, limits and examples."""

from __future__ import annotations

import json
from typing import Any

import httpx
import jsonschema_rs
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from tests.web.routed import routed

from masthead.base.config.settings import Settings
from masthead.base.errors import Invalid
from masthead.engine.records.fields.base import FieldError
from masthead.identity.scopes import SCOPES
from masthead.service.app import V1_TABLE
from masthead.service.cli.main import main
from masthead.web.openapi.endpoints import description_routes
from masthead.web.openapi.public_api import build_document
from masthead.web.openapi.schemas import body_example, body_schema
from masthead.web.v1.errors import RENAMED_IN_B, TABLE
from masthead.web.v1.routes import PREFIX, Route
from masthead.web.v1.schema import Body

SETTINGS = Settings.from_environ({"MASTHEAD_BASE_URL": "https://example.com"})
DOCUMENT = build_document(V1_TABLE, SETTINGS)
BODIES = {route.body.name: route.body for route in V1_TABLE if route.body}


def operation_of(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = DOCUMENT["paths"][PREFIX + route.path][route.method.lower()]
    return operation


def name_of(route: Route) -> str:
    return f"{route.method} {route.path}"


def whole(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema of the document that its references work in."""
    return {**schema, "components": DOCUMENT["components"]}


def checked_by(schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(whole(schema), validate_formats=True)


def test_every_schema_is_one() -> None:
    for schema in DOCUMENT["components"]["schemas"].values():
        jsonschema_rs.meta.validate(schema)


def test_the_document_is_valid_openapi_3_1() -> None:
    assert DOCUMENT["openapi"].startswith("3.1.")
    assert DOCUMENT["info"]["version"] == "1.0.0"
    assert list(OpenAPIV31SpecValidator(DOCUMENT).iter_errors()) == []


def test_the_document_has_the_endpoints_that_run_and_no_others() -> None:
    described = {
        (method.upper(), path) for path, methods in DOCUMENT["paths"].items() for method in methods
    }
    assert described == {(route.method, PREFIX + route.path) for route in V1_TABLE}


def test_operation_ids_are_unique() -> None:
    ids = [operation_of(route)["operationId"] for route in V1_TABLE]
    assert len(set(ids)) == len(ids)
    assert {"listPosts", "createPost", "updatePost", "putPost", "deletePost"} <= set(ids)


@pytest.mark.parametrize("route", V1_TABLE, ids=name_of)
def test_every_operation_says_scope_success_and_refusals(route: Route) -> None:
    operation = operation_of(route)
    scopes = (route.scope, *route.other_scopes)
    assert operation["security"] == [{"apiKey": [scope]} for scope in scopes]
    assert set(scopes) <= set(SCOPES)
    assert operation["summary"]
    assert {str(route.status), "400", "401", "403", "429", "500", "503"} <= set(
        operation["responses"]
    )
    assert ("304" in operation["responses"]) == route.is_cacheable
    assert ("412" in operation["responses"]) == (route.method in ("PATCH", "PUT", "DELETE"))
    assert "X-Request-Id" in operation["responses"][str(route.status)]["headers"]


@pytest.mark.parametrize("route", V1_TABLE, ids=name_of)
def test_every_example_of_an_answer_holds(route: Route) -> None:
    content = operation_of(route)["responses"][str(route.status)].get("content", {})
    for media in content.values():
        assert checked_by(media["schema"]).is_valid(media["example"])


@pytest.mark.parametrize("route", [each for each in V1_TABLE if each.body], ids=name_of)
def test_every_example_of_a_body_is_accepted(route: Route) -> None:
    content = operation_of(route)["requestBody"]["content"]
    media = content.get("application/json")
    if media:
        assert media["example"]
        assert checked_by(media["schema"]).is_valid(media["example"])
        assert route.body is not None
        route.body.read(media["example"])


def test_every_error_is_described_with_an_example_that_holds() -> None:
    described, error = set(), checked_by({"$ref": "#/components/schemas/Error"})
    for response in DOCUMENT["components"]["responses"].values():
        for code, example in response["content"]["application/json"]["examples"].items():
            assert error.is_valid(example["value"])
            described.add(code)
    # No documented operation refuses its own method.
    assert described == {code for _, _, code in TABLE} - {"METHOD_NOT_ALLOWED"}
    codes = DOCUMENT["components"]["schemas"]["ErrorCode"]["enum"]
    assert set(codes) == {code for _, _, code in TABLE}


def test_variant_b_describes_its_own_code_names() -> None:
    settings = Settings.from_environ({"MASTHEAD_ERROR_CODES": "b"})
    codes = build_document(V1_TABLE, settings)["components"]["schemas"]["ErrorCode"]["enum"]
    assert set(RENAMED_IN_B.values()) <= set(codes)
    assert not set(RENAMED_IN_B) & set(codes)


# Checked by the database, the network or a list of reserved names, or no JSON.
CHECKED_FURTHER = {
    ("CommentCreate", "post_id"),
    ("CommentCreate", "parent_id"),
    ("MailingCreate", "post_id"),
    ("MailingTest", "post_id"),
    ("MediaUpload", "file"),
    ("PageCreate", "slug"),
    ("PageUpdate", "slug"),
    ("PostCreate", "tiers"),
    ("PostUpdate", "tiers"),
    ("TagCreate", "name"),
    ("TagUpdate", "name"),
    ("OfferCreate", "tier"),
    ("OfferUpdate", "tier"),
    ("SiteSettingsUpdate", "theme"),
    ("WebhookSubscriptionCreate", "filter"),
    ("WebhookSubscriptionUpdate", "filter"),
    ("WebhookSubscriptionCreate", "url"),
    ("WebhookSubscriptionUpdate", "url"),
}
VALUES: list[Any] = [
    "",
    " ",
    "word",
    "draft",
    "approved",
    "free",
    "past_due",
    "a/b",
    "ada@example.com",
    "not an address",
    "https://example.com/logo.svg",
    "/media/logo.svg",
    "//example.com",
    "javascript:alert(1)",
    "x" * 60,
    "x" * 61,
    "x" * 160,
    "x" * 161,
    "x" * 255,
    "x" * 256,
    "x" * 500,
    "x" * 501,
    "x" * 5001,
    ["tag"],
    [" "],
    ["\x1c\x85"],
    ["x" * 100],
    ["x" * 101],
    [str(number) for number in range(100)],
    [str(number) for number in range(101)],
    [1],
    0,
    1.5,
    True,
    None,
    {"type": "doc"},
]


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (body, name)
        for body in BODIES.values()
        for name in body.fields
        if (body.name, name) not in CHECKED_FURTHER
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_the_schema_of_a_field_accepts_the_same_values_as_the_service(
    body: Body, name: str
) -> None:
    schema = checked_by(body_schema(body)["properties"][name])
    for value in VALUES:
        assert schema.is_valid(value) == is_taken(body, name, value), value


def is_taken(body: Body, name: str, value: Any) -> bool:
    try:
        file = {"file": "digest"} if "file" in body.required else {}
        body.read({**file, **body_example(body), name: value})
        body.collection.by_name[name].check(value)
    except (Invalid, FieldError):
        return False
    return True


def test_limits_come_from_the_fields() -> None:
    properties = DOCUMENT["components"]["schemas"]["PostCreate"]["properties"]
    assert properties["title"]["minLength"] == 1
    assert properties["title"]["maxLength"] == 255
    assert properties["seo_title"]["maxLength"] == 60
    assert properties["status"]["enum"] == ["draft", "published"]
    assert properties["status"]["default"] == "draft"
    assert properties["excerpt"]["type"] == ["string", "null"]
    assert DOCUMENT["components"]["schemas"]["PostCreate"]["required"] == ["title"]
    assert "required" not in DOCUMENT["components"]["schemas"]["PostUpdate"]
    assert "default" not in DOCUMENT["components"]["schemas"]["PostUpdate"]["properties"]["status"]


def test_only_bodies_that_refuse_unknown_fields_are_closed() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert schemas["PostCreate"]["additionalProperties"] is True
    assert schemas["SiteSettingsUpdate"]["additionalProperties"] is False


def test_paging_parameters_say_their_limits() -> None:
    parameters = DOCUMENT["paths"]["/api/v1/posts"]["get"]["parameters"]
    per_page = next(each for each in parameters if each.get("name") == "per_page")
    assert per_page["schema"] == {"type": "integer", "minimum": 1, "maximum": 100, "default": 20}


def visitor() -> httpx.AsyncClient:
    app = routed(description_routes(V1_TABLE, SETTINGS))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")


def test_the_command_line_prints_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["openapi", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["paths"] == DOCUMENT["paths"]
    assert main(["openapi"]) == 0
    assert json.loads(capsys.readouterr().out)["paths"] == DOCUMENT["paths"]


class TestDescriptions:
    async def test_the_document_is_served_without_a_key(self) -> None:
        answer = await visitor().get("/api/v1/openapi.json")
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json"
        assert answer.json() == DOCUMENT

    async def test_a_client_that_has_the_document_gets_304(self) -> None:
        first = await visitor().get("/api/v1/openapi.json")
        tag = first.headers["etag"]
        again = await visitor().get("/api/v1/openapi.json", headers={"if-none-match": tag})
        assert again.status_code == 304
        assert again.content == b""

    async def test_the_reference_shows_every_endpoint_and_schema(self) -> None:
        page = (await visitor().get("/api/v1/docs")).text
        for route in V1_TABLE:
            operation = operation_of(route)
            assert f'<article id="{operation["operationId"]}">' in page
            assert f"<code>{route.scope}</code>" in page
            assert f"<code>{PREFIX}{route.path}</code>" in page
        for name in DOCUMENT["components"]["schemas"]:
            assert f'id="schema-{name}"' in page

    async def test_the_reference_needs_nothing_from_elsewhere(self) -> None:
        answer = await visitor().get("/api/v1/docs")
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert " style=" not in answer.text
        assert "<script>" not in answer.text
        for asset in ("reference.css", "reference.js"):
            assert f'"/api/v1/docs/{asset}"' in answer.text
            content = await visitor().get(f"/api/v1/docs/{asset}")
            assert content.status_code == 200
            assert "http:" not in content.text
            assert "https:" not in content.text
