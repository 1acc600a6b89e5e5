"""PocketBase's own clients, as they come from their registries, against a real server."""

from __future__ import annotations

import asyncio
import io
from contextlib import ExitStack
from pathlib import Path

import pytest
from PIL import Image
from pocketbase.errors import ClientResponseError
from pocketbase.models import FileUpload
from tests.clients.node import HERE, run_node
from tests.conftest import Server
from tests.world import PASSWORD

from pocketbase import PocketBase


def picture() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (400, 200), "teal").save(file, "PNG")
    return file.getvalue()


async def test_the_javascript_client(server: Server, tmp_path: Path) -> None:
    owner, member = await server.tenant.owner(), await server.tenant.member()
    path = tmp_path / "picture.png"
    path.write_bytes(picture())
    finished = await run_node(
        HERE / "record_store.mjs", server.url, owner.email, member.email, PASSWORD, str(path)
    )
    assert finished.errors == ""
    assert finished.code == 0
    assert finished.output.count("ok ") == 10


async def test_the_python_client(server: Server) -> None:
    owner, member = await server.tenant.owner(), await server.tenant.member()
    await asyncio.to_thread(_use_python_client, server.url, owner.email, member.email)


def _use_python_client(url: str, owner_email: str, member_email: str) -> None:
    with ExitStack() as stack:
        owner, reader, guest = PocketBase(url), PocketBase(url), PocketBase(url)
        for client in (owner, reader, guest):
            stack.callback(client.http_client.close)
        _sign_in(owner, reader, guest, owner_email, member_email)
        _work(owner, guest)


def _sign_in(
    owner: PocketBase, reader: PocketBase, guest: PocketBase, owner_email: str, member_email: str
) -> None:
    signed_in = owner.collection("_superusers").auth_with_password(owner_email, PASSWORD)
    assert signed_in.record.email == owner_email
    reader.collection("blog_members").auth_with_password(member_email, PASSWORD)
    owner.collection("_superusers").auth_refresh()
    with pytest.raises(ClientResponseError) as refused:
        guest.collection("blog_members").auth_with_password(member_email, "wrong password")
    assert refused.value.status == 400


def _work(owner: PocketBase, guest: PocketBase) -> None:
    posts = owner.collection("posts")
    made = [posts.create({"title": f"Post {n}", "status": "published"}) for n in range(4)]
    page = guest.collection("posts").get_list(1, 3, {"sort": "-title", "filter": 'title ~ "post"'})
    assert (page.total_items, page.total_pages) == (4, 2)
    assert [item.title for item in page.items] == ["Post 3", "Post 2", "Post 1"]
    assert len(guest.collection("posts").get_full_list(batch=2)) == 4
    assert guest.collection("posts").get_first_list_item('title = "Post 2"').id == made[2].id
    assert posts.update(made[0].id, {"title": "Changed"}).title == "Changed"
    assert posts.delete(made[1].id)
    with pytest.raises(ClientResponseError) as refused:
        posts.get_one(made[1].id)
    assert (refused.value.status, refused.value.data["code"]) == (404, "not_found")
    with pytest.raises(ClientResponseError) as refused:
        posts.create({"title": ""})
    assert refused.value.data["data"]["title"]["code"] == "validation_required"

    said = {"post_id": made[0].id, "author_name": "Ann", "body": "words"}
    comment = owner.collection("comments").create(said, {"expand": "post_id"})
    assert comment.expand["post_id"].title == "Changed"

    upload = FileUpload("picture.png", picture(), "image/png")
    item = owner.collection("media").create({"file": upload, "alt": "words"})
    assert (item.width, item.height, item.alt) == (400, 200, "words")
    address = owner.files.get_url(item, item.file, {"thumb": "100x100"})
    thumb = owner.http_client.get(address)
    assert Image.open(io.BytesIO(thumb.content)).size == (100, 100)

    upload = FileUpload("picture.png", picture(), "image/png")
    hidden = owner.collection("media").create({"file": upload, "private": True})
    for query, status in (({}, 404), ({"token": owner.files.get_token()}, 200)):
        address = owner.files.get_url(hidden, hidden.file, query)
        assert guest.http_client.get(address).status_code == status

    batch = owner.create_batch()
    batch.collection("posts").create({"title": "Batched"})
    batch.collection("posts").delete(made[2].id)
    assert [answer["status"] for answer in batch.send()] == [200, 204]
