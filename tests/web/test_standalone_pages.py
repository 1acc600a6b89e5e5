"""The small pages without a theme: their policy allows the style that they hold."""

from __future__ import annotations

import base64
import hashlib
import re

from masthead.web.pages import Page, page_answer
from masthead.web.request import Request


async def no_body() -> None:
    raise AssertionError("nobody reads it")


def test_the_style_is_the_one_that_the_policy_names() -> None:
    scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
    request = Request(scope, no_body)  # type: ignore[arg-type]
    answer = page_answer(request, Page("ready", "Hello", ("A sentence.",)))
    found = re.search(r"<style>(.*)</style>", answer.body.decode(), re.DOTALL)
    assert found
    digest = base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()
    policy = dict(answer.headers)[b"content-security-policy"].decode()
    assert f"'sha256-{digest}'" in policy
