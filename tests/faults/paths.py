"""The ways to write, over HTTP, as those who use a site do: each path is gone again and again."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx
from tests.faces.admin.visitor import hidden_in, token_in
from tests.faults.ledger import Post, Unacknowledged
from tests.features.media.pictures import picture
from tests.features.payments.processor import SECRET, joined, timed

from masthead.faces.admin.flash import COOKIE
from masthead.identity.sign_ins import PROOF_LASTS

if TYPE_CHECKING:
    from tests.faults.load import Load

Path = Callable[[httpx.AsyncClient, "Load"], Awaitable[None]]

RESTING_SECONDS = 0.05
COSTLY_SECONDS = 0.1
"""Before an export or an erasure: each makes work, and they would be most of the load."""
HALF_BYTES = 2 * 1024 * 1024
"""An upload is cut off after so many."""
_UNDO = re.compile(r'<form class="toast" method="post" action="([^"]+)"')
_COLUMN = re.compile(r'<select[^>]*name="(column\.\d+)"[^>]*>(.*?)</select>', re.DOTALL)
_CHOSEN = re.compile(r'value="(\w*)" selected')


async def create_post(client: httpx.AsyncClient, load: Load) -> Post:
    post = Post(load.word())
    post.attempted = post.title
    load.ledger.posts.append(post)
    body = {"title": post.title, "status": "published", "content_html": "<p>Fog.</p>"}
    made = await load.call(client, "POST", "/api/v1/posts", (201,), json=body)
    post.id, post.acknowledged, post.is_settled = made.json()["data"]["id"], post.title, True
    return post


async def write_posts(client: httpx.AsyncClient, load: Load) -> None:
    """Creates one, and changes it."""
    post = await create_post(client, load)
    for _ in range(load.rng.randrange(3)):
        title = load.word()
        post.attempted, post.is_settled = title, False
        one = f"/api/v1/posts/{post.id}"
        await load.call(client, "PATCH", one, (200,), json={"title": title})
        post.acknowledged, post.is_settled = title, True


async def delete_and_restore(client: httpx.AsyncClient, load: Load) -> None:
    post = await create_post(client, load)
    post.attempted, post.is_settled = None, False
    await load.call(client, "DELETE", f"/api/v1/posts/{post.id}", (204,))
    post.acknowledged, post.is_settled = None, True
    trash = await load.call(client, "GET", "/api/v1/trash?per_page=100", (200,))
    for entry in trash.json()["items"]:
        if post.id in entry.values() and load.rng.random() < 0.7:
            post.attempted, post.is_settled = post.title, False
            restore = f"/api/v1/trash/{entry['id']}/restore"
            await load.call(client, "POST", restore, (200,))
            post.acknowledged, post.is_settled = post.title, True


async def delete_and_undo(client: httpx.AsyncClient, load: Load) -> None:
    """Deletes two posts in the admin, and takes it back."""
    posts = [await create_post(client, load) for _ in range(2)]
    browser = await load.signed_in()
    page = await load.call(browser, "GET", "/admin/posts", (200,))
    token = {"form_token": token_in(page.text)}
    # 403: in this browser the owner has signed in again meanwhile.
    expected = (303, 403) if load.clock_jumps else (303,)
    ticks = {f"select.{each.id}": "on" for each in posts}
    for post in posts:
        post.attempted, post.is_settled = None, False
    chosen = {**token, **ticks, "action": "delete", "confirmed": "1"}
    done = await load.call(browser, "POST", "/admin/posts/bulk", expected, data=chosen)
    if done.status_code == 403:
        return
    page = await load.call(browser, "GET", done.headers["location"], (200,))
    for post in posts:
        post.acknowledged, post.attempted = None, post.title
    if button := _UNDO.search(page.text):
        back = {**token, "next": "/admin/posts"}
        await load.call(browser, "POST", button[1], expected, data=back)
        for post in posts:
            # By a clock that jumped, it was too late.
            post.acknowledged, post.is_settled = post.title, not load.clock_jumps
            post.attempted = None


async def import_posts(_: httpx.AsyncClient, load: Load) -> None:
    """An export of another platform: it is uploaded, looked at by the worker, and run. An upload
    that was not run because of a fault may be run after it."""
    browser = await load.signed_in()
    expected = (303, 403) if load.clock_jumps else (303,)
    if not load.uploads or load.rng.random() < 0.5:
        await _upload_export(browser, load, expected)
    there = load.rng.choice([*load.uploads])
    page = await load.call(browser, "GET", there, (200,))
    while 'data-live="import_runs/' in page.text:
        await asyncio.sleep(0.2)
        page = await load.call(browser, "GET", there, (200,))
    titles = load.uploads.pop(there)
    if f'action="{there}/run"' not in page.text:
        # The preview has failed, and says so.
        raise Unacknowledged
    load.ledger.doubtful_imports.update(titles)
    form = {"form_token": token_in(page.text)}
    run = await load.call(browser, "POST", f"{there}/run", expected, data=form)
    if COOKIE in run.headers.get("set-cookie", ""):
        # A sentence for the page: another import is running. This one can be run later.
        load.uploads[there] = titles
        raise Unacknowledged
    if run.status_code == 303:
        load.ledger.imported.update(titles)


async def _upload_export(browser: httpx.AsyncClient, load: Load, expected: tuple[int, ...]) -> None:
    titles = [load.word() for _ in range(load.rng.randint(1, 5))]
    address = "/admin/tools/import/new"
    page = await load.call(browser, "GET", address, (200,))
    form = {"form_token": token_in(page.text), "platform": "ghost", "site_url": ""}
    files = {"file": ("export.json", _ghost(titles))}
    sent = await load.call(browser, "POST", address, expected, data=form, files=files)
    if sent.status_code != 303:
        raise Unacknowledged
    load.uploads[sent.headers["location"]] = titles


def _ghost(titles: list[str]) -> bytes:
    posts = [
        {"id": each, "title": each, "slug": each, "html": "<p>Fog.</p>", "status": "published"}
        for each in titles
    ]
    return json.dumps({"db": [{"meta": {"version": "5.0.0"}, "data": {"posts": posts}}]}).encode()


async def import_members(_: httpx.AsyncClient, load: Load) -> None:
    """A list, whose columns are found by their names."""
    browser = await load.signed_in()
    expected = (303, 403) if load.clock_jumps else (303,)
    emails = [f"{load.word()}@imported.example" for _ in range(load.rng.randint(1, 40))]
    lines = ["Email,Full Name,Newsletter,Tier", *(f"{each},A Reader,no,free" for each in emails)]
    address = "/admin/members/import"
    page = await load.call(browser, "GET", address, (200,))
    form, file = hidden_in(page.text), ("list.csv", "\n".join(lines).encode(), "text/csv")
    sent = await load.call(browser, "POST", address, expected, data=form, files={"file": file})
    if sent.status_code != 303:
        raise Unacknowledged
    there = sent.headers["location"]
    page = await load.call(browser, "GET", there, (200,))
    columns = {
        name: each[1] if (each := _CHOSEN.search(options)) else ""
        for name, options in _COLUMN.findall(page.text)
    }
    form = hidden_in(page.text) | columns | {"do": "run", "consent": "the form on paper"}
    run = await load.call(browser, "POST", there, expected, data=form)
    if run.status_code == 303:
        load.ledger.lists[there] = emails


async def upload(client: httpx.AsyncClient, load: Load) -> None:
    await _upload(client, load, ("png", picture("PNG", (60, 40)), "image/png"))


async def upload_large(client: httpx.AsyncClient, load: Load) -> None:
    """A file that is stored in pieces."""
    await _upload(client, load, ("txt", b"Fog. " * 300_000, "text/plain"))


async def _upload(client: httpx.AsyncClient, load: Load, file: tuple[str, bytes, str]) -> None:
    name, (ending, content, kind) = load.word(), file
    load.ledger.doubtful_files.add(name)
    files = {"file": (f"{name}.{ending}", content, kind)}
    made = await load.call(client, "POST", "/api/v1/media", (201,), files=files, data={"alt": name})
    load.ledger.files.add(name)
    if load.rng.random() < 0.3:
        load.ledger.files.discard(name)
        one = f"/api/v1/media/{made.json()['data']['id']}"
        await load.call(client, "DELETE", one, (204,))
        load.ledger.deleted_files.add(name)


async def hang_up(client: httpx.AsyncClient, load: Load) -> None:
    """Sends half of a picture that is too large to be kept in memory, and goes away."""
    boundary = load.word()
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="half.png"'
    start = head.encode() + b"\r\nContent-Type: image/png\r\n\r\n" + picture("PNG", (60, 40))
    lines = [
        "POST /api/v1/media HTTP/1.1",
        *(f"{name}: {client.headers[name]}" for name in ("Host", "Authorization")),
        f"Content-Type: multipart/form-data; boundary={boundary}",
        f"Content-Length: {2 * HALF_BYTES}",
    ]
    load.ledger.asked += 1
    try:
        _, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
        writer.write("\r\n".join([*lines, "\r\n"]).encode() + start.ljust(HALF_BYTES, b"x"))
        await writer.drain()
        if load.rng.random() < 0.5:
            writer.transport.abort()
        writer.close()
    except OSError as error:
        raise Unacknowledged from error
    load.ledger.hung_up += 1


async def pay(client: httpx.AsyncClient, load: Load) -> None:
    """An event of the processor, which sends it again until it is acknowledged."""
    name = load.word()
    email = f"{name}@pays.example"
    event = joined(
        int(load.site.clock().timestamp()),
        id=f"cs_{name}",
        customer=f"cus_{name}",
        subscription=f"sub_{name}",
        customer_details={"email": email, "name": "A Reader"},
    )
    event["id"] = f"evt_{name}"
    body = json.dumps(event).encode()
    path = f"/api/member-webhook/{load.site.tenant.slug}"
    for _ in range(1 + load.rng.randrange(2)):
        signed = timed(SECRET, body, int(load.site.clock().timestamp()))
        headers = {"stripe-signature": signed, "content-type": "application/json"}
        expected = (200, 400) if load.clock_jumps else (200,)
        answer = await load.call(client, "POST", path, expected, content=body, headers=headers)
        if answer.status_code == 200:
            load.ledger.payers.add(email)


async def send_newsletters(client: httpx.AsyncClient, load: Load) -> None:
    published = [each for each in load.ledger.posts if each.is_settled and each.acknowledged]
    if not published or len(load.ledger.mailings) > 40:
        await asyncio.sleep(RESTING_SECONDS)
        return
    post = load.rng.choice(published)
    load.ledger.doubtful_mailings.add(post.id)
    # 404 and 409: its writer has deleted it, or it was mailed before.
    made = await load.call(
        client, "POST", "/api/v1/mailings", (202, 404, 409, 422), json={"post_id": post.id}
    )
    if made.status_code == 202:
        load.ledger.doubtful_mailings.discard(post.id)
        load.ledger.mailings[made.json()["data"]["id"]] = post.id


async def export_members(client: httpx.AsyncClient, load: Load) -> None:
    await asyncio.sleep(COSTLY_SECONDS)
    body = {"type": "member", "member_id": load.rng.choice(load.site.members)}
    await load.signed_in()
    headers = {"Authorization": load.site.owner}
    expected = (200, 202, 403) if _is_proof_old(load) else (200, 202)
    sent = await load.call(client, "POST", "/api/gdpr/export", expected, json=body, headers=headers)
    load.ledger.exports += sent.status_code != 403


async def export_site(_: httpx.AsyncClient, load: Load) -> None:
    """Asks for a file, and downloads the last one."""
    await asyncio.sleep(COSTLY_SECONDS)
    browser = await load.signed_in()
    address = "/admin/tools/export"
    page = await load.call(browser, "GET", address, (200,))
    form = hidden_in(page.text) | {"format": load.rng.choice(("wxr", "ghost", "csv", "html"))}
    is_old = _is_proof_old(load)
    await load.call(browser, "POST", address, (303, 403) if is_old else (303,), data=form)
    for each in re.findall(rf'"({address}/[a-z0-9]+/download)"', page.text)[:1]:
        # 404: a newer file of its format has taken its place meanwhile. 303: who is it?
        await load.call(browser, "GET", each, (200, 404, 303) if is_old else (200, 404))


def _is_proof_old(load: Load) -> bool:
    """The sign-in may be too old for sensitive steps, by the clock, which settling moves too."""
    age = load.site.clock() - load.began
    return load.clock_jumps or age > PROOF_LASTS - timedelta(minutes=1)


async def erase_members(client: httpx.AsyncClient, load: Load) -> None:
    """Adds one, and deletes them at once with all personal data."""
    await asyncio.sleep(COSTLY_SECONDS)
    email = f"{load.word()}@leaves.example"
    body = {"email": email, "name": "A Reader"}
    made = await load.call(client, "POST", "/api/v1/members", (201,), json=body)
    load.ledger.leavers.add(email)
    one = f"/api/v1/members/{made.json()['data']['id']}"
    await load.call(client, "DELETE", one, (204,))
    load.ledger.erased.add(email)


async def read(client: httpx.AsyncClient, load: Load) -> None:
    """Opens a page as a reader does, whom the statistics count."""
    await asyncio.sleep(0.01)
    headers = {
        "User-Agent": f"Mozilla/5.0 (X11; Linux x86_64) Firefox/{load.rng.randrange(100, 140)}.0",
        "Accept": "text/html",
        "Authorization": "",
    }
    load.ledger.views_asked += 1
    await load.call(client, "GET", "/", (200,), headers=headers)
    load.ledger.views += 1


async def send_bad_input(client: httpx.AsyncClient, load: Load) -> None:
    await asyncio.sleep(0.05)
    bad: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/api/v1/posts", {"json": {"title": 5}}),
        ("POST", "/api/v1/posts", {"content": b"{"}),
        ("GET", "/api/v1/posts?per_page=nine", {}),
        ("POST", "/api/v1/media", {"files": {"file": ("a.png", b"\x89PNG\r\n\x1a\nhalf")}}),
        ("POST", f"/api/member-webhook/{load.site.tenant.slug}", {"content": b"forged"}),
        ("GET", "/api/collections/posts/records?filter=(((", {}),
    ]
    method, path, request = load.rng.choice(bad)
    load.ledger.bad_input += 1
    await load.call(client, method, path, (201, 400, 401, 415, 422), **request)


PATHS: tuple[Path, ...] = (
    write_posts,
    write_posts,
    delete_and_restore,
    delete_and_undo,
    import_posts,
    import_members,
    upload,
    pay,
    send_newsletters,
    export_members,
    export_site,
    erase_members,
    read,
    send_bad_input,
)
