"""An authenticator app, as a person has it on a phone."""

from __future__ import annotations

import re
from dataclasses import dataclass

import httpx
import pyotp
from tests.faces.admin.visitor import OWN, Visitor, hidden_in
from tests.world import PASSWORD, World


@dataclass
class App:
    world: World
    secret: str
    recovery_codes: list[str]

    def code(self) -> str:
        """The next one: each counts once."""
        self.world.clock.advance(seconds=30)
        return self.shown()

    def shown(self) -> str:
        return pyotp.TOTP(self.secret).at(self.world.clock())


async def add_app(browser: Visitor, world: World) -> App:
    """Scans the QR code of the account's page."""
    page = (await browser.get("/admin/account/app")).text
    found = re.search(r'aria-label="Secret" data-copied>([A-Z2-7 ]+)<', page)
    assert found, page
    app = App(world, found[1].replace(" ", ""), [])
    form = {**hidden_in(page), "code": app.shown()}
    answer = await browser.api.post("/admin/account/app", data=form, headers=OWN)
    assert answer.status_code == 200, answer.text
    app.recovery_codes = recovery_codes_in(answer.text)
    return app


def recovery_codes_in(page: str) -> list[str]:
    return re.findall(r"<code>([a-z0-9-]{29})</code>", page)


async def type_password(browser: Visitor, email: str) -> httpx.Response:
    form = {"email": email, "password": PASSWORD, "next": "/admin/posts"}
    return await browser.api.post("/admin/sign-in", data=form, headers=OWN)


async def type_code(browser: Visitor, code: str) -> httpx.Response:
    form = {"code": code, "next": "/admin/posts"}
    return await browser.api.post("/admin/sign-in/code", data=form, headers=OWN)
