"""Asks who it is before a sensitive page, and leads back to it. A form asks by itself: the checks
show it again with the question."""

from __future__ import annotations

from masthead.faces.admin.endpoint import CONFIRM, Answer, Redirect, prove_page
from masthead.faces.admin.pages.account.sign_in import only_ours
from masthead.faces.admin.request import AdminRequest


async def confirm_form(request: AdminRequest) -> Answer:
    onward = only_ours(request.query.get("next", ""))
    hidden = {"form_token": request.services.form_tokens.of(request.form_binding), "next": onward}
    return prove_page(request, hidden, CONFIRM)


async def confirm(request: AdminRequest) -> Answer:
    """The checks have taken the proof."""
    return Redirect(only_ours(request.form.get("next", "")))
