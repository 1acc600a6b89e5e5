"""Without a mail server, emails are files, and no page says that they were sent."""

from __future__ import annotations

from tests.faces.admin.visitor import staff
from tests.features.mailings.conftest import MAILINGS
from tests.outside.mail.offices import Office, office, office_world
from tests.v1.keys import key_client

from masthead.service.background import mailing_worker

__all__ = ["office", "office_world"]


async def test_the_pages_of_a_mailing(office: Office) -> None:
    tenant = await office.world.new_tenant()
    owner, _ = await staff(tenant, "owner")
    reader = {"email": "reader@example.com", "newsletter": True}
    await tenant.create("blog_members", reader)
    post = await tenant.published(title="Tides")
    editor = (await owner.get(f"/admin/posts/{post['id']}")).text
    assert "Email it to members…" in editor
    api = await key_client(tenant)
    made = (await api.post(MAILINGS, json={"post_id": post["id"]})).json()["data"]
    await mailing_worker(office.world.parts).run_due()
    page = (await owner.get(f"/admin/mailings/{made['id']}")).text
    assert "Written to files, not sent" in page
    assert "Written to files" in (await owner.get("/admin/mailings")).text
    said = (await owner.get(f"/admin/posts/{post['id']}/mail")).text
    assert "were written to files, not sent" in said
    editor = (await owner.get(f"/admin/posts/{post['id']}")).text
    assert "Email it to members…" not in editor
    assert f"/admin/mailings/{made['id']}" in editor
    await tenant.create("newsletters", {"name": "Second", "slug": "second"})
    for path in ("", "/publish"):
        page = (await owner.get(f"/admin/posts/{post['id']}{path}")).text
        assert "Email it to another newsletter…" in page
