"""Error messages say what is allowed, or what to do."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.v1.keys import key_client
from tests.world import TenantWorld, records_of

API = "/api/v1"


@pytest.fixture
async def api(tenant: TenantWorld) -> httpx.AsyncClient:
    return await key_client(tenant)


async def test_the_error_of_a_slug_names_the_allowed_characters(
    tenant: TenantWorld, api: httpx.AsyncClient
) -> None:
    answer = await api.post(f"{API}/posts", json={"title": "x", "slug": "a/b"})
    (message,) = answer.json()["error"]["details"]["slug"]
    assert "no blanks, slashes" in message
    owner = await tenant.owner()
    stored = await owner.api.post(records_of("posts"), json={"title": "x", "slug": "a/b"})
    problem = stored.json()["data"]["slug"]
    assert problem == {"code": "validation_invalid_format", "message": message}


async def test_the_error_of_a_relation_names_its_collection(
    tenant: TenantWorld, api: httpx.AsyncClient
) -> None:
    comment = {"author_name": "A", "author_email": "a@example.com", "body": "b"}
    nowhere = comment | {"post_id": "abcdefghij12345"}
    answer = await api.post(f"{API}/comments", json=nowhere)
    assert answer.json()["error"]["details"] == {
        "post_id": ["Must be the id of an existing record in posts."]
    }
    post, other = await tenant.published(), await tenant.published(title="Other")
    first = await api.post(f"{API}/comments", json=comment | {"post_id": post["id"]})
    under = {"post_id": other["id"], "parent_id": first.json()["data"]["id"]}
    answer = await api.post(f"{API}/comments", json=comment | under)
    assert answer.json()["error"]["details"] == {
        "parent_id": ["Must be the id of an existing record in comments with the same post_id."]
    }


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "The request body is empty. Send a JSON object."),
        (b" \n", "The request body is empty. Send a JSON object."),
        (b'{"title": ', "The request body is not valid JSON: it ends before the object does."),
        (b"[]", "The request body must be a JSON object."),
    ],
)
async def test_a_body_that_is_no_json_says_why(
    tenant: TenantWorld, api: httpx.AsyncClient, body: bytes, message: str
) -> None:
    headers = {"content-type": "application/json"}
    answer = await api.post(f"{API}/posts", content=body, headers=headers)
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, message)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/posts", "page"),
        ("/posts", "per_page"),
        ("/posts", "cursor"),
        ("/posts", "status"),
        ("/posts", "tag"),
        ("/posts", "q"),
        ("/posts", "updated_since"),
        ("/comments", "post_id"),
        ("/comments", "status"),
        ("/media", "type"),
        ("/members", "tier"),
        ("/webhooks/events", "event"),
        ("/webhooks/events", "since"),
        ("/webhooks/events", "after"),
    ],
)
async def test_an_empty_parameter_is_refused_everywhere(
    api: httpx.AsyncClient, path: str, name: str
) -> None:
    answer = await api.get(f"{API}{path}?{name}=")
    assert answer.status_code == 422
    assert answer.json()["error"]["details"] == {
        name: ["Must not be empty. Leave the parameter out instead."]
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"site_logo": "logo"}, "Must be a full http or https URL, or a path that begins with /."),
        ({"plan": "pro"}, "Can't be set here. Use one of site_name, site_description,"),
    ],
)
async def test_the_error_of_site_settings_names_the_allowed_fields(
    api: httpx.AsyncClient, change: dict[str, Any], message: str
) -> None:
    answer = await api.patch(f"{API}/site-settings", json=change)
    assert answer.status_code == 422
    (told,) = next(iter(answer.json()["error"]["details"].values()))
    assert told.startswith(message)


async def test_the_error_of_a_taken_value_says_so(api: httpx.AsyncClient) -> None:
    for _ in range(2):
        answer = await api.post(f"{API}/posts", json={"title": "x", "slug": "taken"})
    assert answer.json()["error"]["details"] == {
        "slug": ["This value is taken. Choose another one."]
    }
