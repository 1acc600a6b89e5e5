"""The description of the service's other endpoints matches every route and answer."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import Any

import httpx
import jsonschema_rs
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from tests.world import PASSWORD, Account, TenantWorld, World, records_of

from masthead.base.config.settings import Settings
from masthead.faces.record_api import other_services
from masthead.faces.record_api.routes import COLLECTION
from masthead.service.app import SERVICE_PARTS, V1_TABLE
from masthead.service.cli.main import main
from masthead.service.schema import registry
from masthead.web.dispatch import Route
from masthead.web.openapi.public_api import build_document
from masthead.web.openapi.service import DOCUMENT, build_service_document

SETTINGS = Settings.from_environ({"MASTHEAD_BASE_URL": "https://example.com"})
DESCRIBED = build_service_document(SERVICE_PARTS, registry, SETTINGS)


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in DESCRIBED["paths"].items():
        for method, operation in methods.items():
            yield path, method.upper(), operation


def resolved(part: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = part
    if "$ref" in part:
        _, _, kind, name = part["$ref"].split("/")
        found = DESCRIBED["components"][kind][name]
    return found


def problems(schema: dict[str, Any], value: Any) -> list[str]:
    whole = {**schema, "components": DESCRIBED["components"]}
    validator = jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
    return [str(error) for error in validator.iter_errors(value)]


def assert_as_described(operation_id: str, answer: httpx.Response, status: int) -> Any:
    """The answer has one of the described statuses and types, and its schema."""
    (operation,) = [each for *_, each in operations() if each["operationId"] == operation_id]
    assert answer.status_code == status, answer.text
    described = resolved(operation["responses"][str(status)])
    kind = answer.headers.get("content-type", "").partition(";")[0]
    contents = described.get("content", {})
    if not contents:
        assert answer.content == b""
        return None
    if "*/*" in contents:
        return answer.content
    assert kind in contents
    if kind != "application/json":
        return answer.text
    assert problems(contents[kind]["schema"], answer.json()) == []
    return answer.json()


class TestTheDocument:
    def test_is_valid_openapi_3_1(self) -> None:
        assert DESCRIBED["openapi"].startswith("3.1.")
        assert list(OpenAPIV31SpecValidator(DESCRIBED).iter_errors()) == []

    def test_has_examples_that_hold(self) -> None:
        count = 0
        for _, _, operation in operations():
            parts = [*operation["responses"].values(), operation.get("requestBody", {})]
            for part in map(resolved, parts):
                for content in part.get("content", {}).values():
                    if "schema" in content and "example" in content:
                        assert problems(content["schema"], content["example"]) == []
                        count += 1
            for parameter in operation.get("parameters", ()):
                assert problems(parameter["schema"], parameter["example"]) == []
        assert count > 100

    def test_every_body_has_an_example(self) -> None:
        for _, _, operation in operations():
            if "requestBody" in operation:
                assert "example" in operation["requestBody"]["content"]["application/json"]

    async def test_is_served_without_a_key_and_printed(
        self, tenant: TenantWorld, capfd: pytest.CaptureFixture[str]
    ) -> None:
        served = await tenant.guest.get(DOCUMENT)
        assert served.status_code == 200
        assert served.json()["paths"].keys() == DESCRIBED["paths"].keys()
        assert main(["openapi", "--service"]) == 0
        assert json.loads(capfd.readouterr().out)["paths"] == json.loads(
            json.dumps(DESCRIBED["paths"])
        )

    def test_together_with_that_of_the_public_api_has_every_address(self, app: World) -> None:
        mounted = {route.path for route in routes_of(app) if route.path.startswith("/api/")}
        ours = {*DESCRIBED["paths"], *build_document(V1_TABLE, SETTINGS)["paths"]}
        descriptions = {path for path in mounted if path.endswith(".json") or "/docs" in path}
        fallbacks = {path for path in mounted if "{rest:path}" in path}
        refused = {*other_services.INSTEAD, f"{COLLECTION}/truncate"}
        assert mounted - descriptions - fallbacks - refused == ours


def routes_of(app: World) -> list[Route]:
    """Behind the front door."""
    door: Any = app.http
    return list(door.routes.routes)


class TestAnswers:
    async def test_of_records(self, owner: Account) -> None:
        posts = records_of("posts")
        made = await owner.api.post(posts, json={"title": "Hello"})
        record = assert_as_described("createRecord", made, 200)
        assert_as_described("createRecord", await owner.api.post(posts, json={}), 400)
        page = assert_as_described("listRecords", await owner.api.get(posts), 200)
        assert page["items"]
        one = records_of("posts", record["id"])
        assert_as_described("viewRecord", await owner.api.get(one), 200)
        assert_as_described("viewRecord", await owner.api.get(records_of("posts", "none")), 404)
        assert_as_described("updateRecord", await owner.api.patch(one, json={"title": "B"}), 200)
        assert_as_described("deleteRecord", await owner.api.delete(one), 204)

    async def test_of_accounts_and_files(
        self, tenant: TenantWorld, owner: Account, member: Account
    ) -> None:
        given = {"identity": member.email, "password": PASSWORD}
        members = "/api/collections/blog_members"
        signed_in = await tenant.guest.post(f"{members}/auth-with-password", json=given)
        assert_as_described("authWithPassword", signed_in, 200)
        assert_as_described(
            "authWithPassword",
            await tenant.guest.post(f"{members}/auth-with-password", json={"identity": "x"}),
            400,
        )
        refreshed = await member.api.post(f"{members}/auth-refresh")
        assert_as_described("authRefresh", refreshed, 200)
        refused = await tenant.guest.post(f"{members}/auth-refresh")
        assert_as_described("authRefresh", refused, 401)
        methods = await tenant.guest.get(f"{members}/auth-methods")
        assert_as_described("authMethods", methods, 200)
        reset = f"{members}/request-password-reset"
        asked = await tenant.guest.post(reset, json={"email": member.email})
        assert_as_described("requestPasswordReset", asked, 204)
        wrong = {"token": "none", "password": PASSWORD, "passwordConfirm": PASSWORD}
        refused = await tenant.guest.post(f"{members}/confirm-password-reset", json=wrong)
        assert_as_described("confirmPasswordReset", refused, 400)
        given = {"identity": owner.email, "password": PASSWORD}
        old = await tenant.guest.post("/api/admins/auth-with-password", json=given)
        assert_as_described("adminAuthWithPassword", old, 200)
        assert_as_described(
            "adminAuthRefresh", await owner.api.post("/api/admins/auth-refresh"), 200
        )
        assert_as_described("fileToken", await owner.api.post("/api/files/token"), 200)
        uploaded = await owner.api.post(records_of("media"), files={"file": ("a.txt", b"text")})
        item = assert_as_described("createRecord", uploaded, 200)
        address = f"/api/files/media/{item['id']}/{item['file']}"
        assert_as_described("serveFile", await tenant.guest.get(address), 200)
        part = await tenant.guest.get(address, headers={"range": "bytes=1-2"})
        assert_as_described("serveFile", part, 206)

    async def test_of_data_protection(self, owner: Account, member: Account) -> None:
        about = {"type": "member", "member_id": member.id}
        exported = await owner.api.post("/api/gdpr/export", json=about)
        export = assert_as_described("exportData", exported, 200)
        path = export["download_url"].partition("/api/")[2]
        assert_as_described("downloadExport", await owner.api.get(f"/api/{path}"), 200)
        wrong = await owner.api.get(f"/api/gdpr/export/{export['request_id']}?token=no")
        assert_as_described("downloadExport", wrong, 404)
        asked = {**about, "confirmation_phrase": "DELETE MY DATA"}
        deletion = assert_as_described(
            "deleteData", await owner.api.post("/api/gdpr/delete", json=asked), 202
        )
        path = deletion["cancellation_url"].partition("/api/")[2]
        assert_as_described("cancelDeletion", await owner.api.get(f"/api/{path}"), 200)
        unknown = {**about, "member_id": "nobody"}
        assert_as_described(
            "exportData", await owner.api.post("/api/gdpr/export", json=unknown), 422
        )

    async def test_of_ai_payments_and_health(self, tenant: TenantWorld) -> None:
        asked = {"action": "generate", "prompt": "A poem"}
        stream = await tenant.guest.post("/api/ai/generate", json=asked)
        assert assert_as_described("generate", stream, 200).endswith("data: [DONE]\n\n")
        assert_as_described("generate", await tenant.guest.post("/api/ai/generate", json={}), 400)
        await tenant.settings(member_payment_webhook_secret="whsec_here")
        event = json.dumps({"id": "evt_1", "type": "unknown.type", "data": {"object": {}}}).encode()
        address = f"/api/member-webhook/{tenant.slug}"
        signature = hmac.new(b"whsec_here", event, hashlib.sha256).hexdigest()
        headers = {"payment-signature": f"sha256={signature}"}
        taken = await tenant.guest.post(address, content=event, headers=headers)
        assert_as_described("receiveTenantPayment", taken, 200)
        unsigned = await tenant.guest.post(address, content=event)
        assert_as_described("receiveTenantPayment", unsigned, 400)
        nothing = await tenant.guest.post("/api/payment/webhook", content=event)
        assert_as_described("receivePayment", nothing, 404)
        assert_as_described("health", await tenant.guest.get("/api/health"), 200)
