"""A sign-in with a browser that the account has not used before is told by email."""

from __future__ import annotations

from tests.faces.admin.visitor import OWN
from tests.outside.mail.offices import Office, office, office_world, text_of
from tests.world import PASSWORD

__all__ = ["office", "office_world"]

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
NEWER = FIREFOX.replace("140", "141")
CHROME = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/150.0 Safari/537.36"


async def test_once_for_each_browser_and_not_for_the_first(office: Office) -> None:
    tenant = await office.world.new_tenant("site")
    owner = await tenant.owner()
    other = await tenant.owner(role="editor")

    async def told_after(email: str, user_agent: str) -> list[str]:
        form = {"email": email, "password": PASSWORD}
        answer = await tenant.guest.post(
            "/admin/sign-in", data=form, headers=OWN | {"user-agent": user_agent}
        )
        assert answer.status_code == 303
        tenant.guest.cookies.clear()
        return [text_of(each) for each in await office.mails()]

    assert await told_after(owner.email, FIREFOX) == []
    assert await told_after(owner.email, NEWER) == []
    [told] = await told_after(owner.email, CHROME)
    assert f"{owner.email} has signed in" in told
    assert "with Chrome on Windows" in told
    assert len(await told_after(owner.email, CHROME)) == 1
    assert len(await told_after(other.email, CHROME)) == 1
    office.world.clock.advance(days=181)
    assert len(await told_after(other.email, FIREFOX)) == 1
    assert len(await told_after(other.email, CHROME)) == 2
