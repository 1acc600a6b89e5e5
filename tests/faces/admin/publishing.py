"""The way of a form to the site: it is saved, and the dialog asks before anything happens."""

from __future__ import annotations

from collections.abc import Mapping

import httpx
from tests.faces.admin.filled_form import filled
from tests.faces.admin.visitor import Visitor


async def carry_out(
    browser: Visitor, path: str, form: Mapping[str, str] | None = None, **chosen: str
) -> httpx.Response:
    """The answer of the dialog after what was chosen in it, or that of a form that was refused."""
    if form is not None:
        answer = await browser.post(path, {**form, "action": "review"})
        if answer.status_code != 303:
            return answer
        path = answer.headers["location"].removesuffix("/publish")
    return await choose(browser, path, **chosen)


async def choose(browser: Visitor, path: str, **chosen: str) -> httpx.Response:
    dialog = await browser.get(f"{path}/publish")
    if dialog.status_code != 200:
        return dialog
    # Without script the sentence follows what was chosen with the first press of the button.
    said = await browser.post(f"{path}/publish", filled(dialog.text) | chosen)
    if said.status_code != 200:
        return said
    return await browser.post(f"{path}/publish", filled(said.text) | chosen)
