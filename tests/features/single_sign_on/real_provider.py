"""The OpenID Connect provider of the npm package `oidc-provider`, as a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import httpx
from tests.clients.node import HERE, NODE
from tests.tls import Authority

CLIENT = "masthead"
SECRET = "a secret of the client"
_SCRIPT = HERE / "oidc_provider.mjs"


@contextlib.asynccontextmanager
async def real_provider(
    authority: Authority, folder: Path, redirect_uris: Sequence[str]
) -> AsyncIterator[str]:
    """Its issuer."""
    certificate = folder / "provider.pem"
    authority.write_certificate(certificate)
    given = {"CERTIFICATE": str(certificate), "REDIRECT_URIS": json.dumps(list(redirect_uris))}
    process = await asyncio.create_subprocess_exec(
        str(NODE),
        str(_SCRIPT),
        env={**os.environ, **given},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(120):
            line = ""
            while not line.startswith("port "):
                line = (await process.stdout.readline()).decode()
                assert line, "it has ended"
        yield f"https://127.0.0.1:{line.split()[1]}"
    finally:
        process.terminate()
        await process.communicate()


async def sign_in_there(authority: Authority, location: str, name: str) -> str:
    """Signs in on the provider's pages as a browser does. Returns the address it is sent to."""
    async with httpx.AsyncClient(verify=authority.trusting()) as browser:
        answer = await browser.get(location)
        for form in (
            {"prompt": "login", "login": name, "password": "any"},
            {"prompt": "consent"},
        ):
            page = await _follow(browser, answer)
            action = re.search(r'action="([^"]+)"', page.text)
            assert action, page.text
            answer = await browser.post(action[1], data=form)
        while "/auth" in answer.headers["location"]:
            answer = await browser.get(answer.headers["location"])
        return answer.headers["location"]


async def _follow(browser: httpx.AsyncClient, answer: httpx.Response) -> httpx.Response:
    while answer.is_redirect:
        answer = await browser.get(answer.next_request.url if answer.next_request else "")
    return answer
