"""A browser that reads a post and writes below it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import httpx
from lxml import html
from tests.world import Account, TenantWorld

OWN_PAGE = {
    "sec-fetch-site": "same-origin",
    "accept": "text/html",
    "content-type": "application/x-www-form-urlencoded",
}
GUEST = {"name": "Gale Guest", "email": "gale@example.com"}


@dataclass
class Browser:
    """Keeps cookies, and sends what the page's forms would send."""

    site: TenantWorld
    slug: str
    account: Account | None = None
    http: httpx.AsyncClient = field(init=False)

    def __post_init__(self) -> None:
        self.http = self.site.world.client(
            self.site.host, token=self.account.token if self.account else ""
        )

    @property
    def path(self) -> str:
        return f"/posts/{self.slug}"

    async def text(self, query: str = "") -> str:
        answer = await self.http.get(self.path + query, headers={"accept": "text/html"})
        assert answer.status_code == 200, answer.text
        return answer.text

    async def page(self, query: str = "") -> Any:
        return html.fromstring(await self.text(query))

    async def send(self, path: str, **values: str) -> httpx.Response:
        """A form to an address below the post's."""
        if self.account and "form_token" not in values:
            values["form_token"] = await self.token()
        return await self.http.post(
            f"{self.path}/comments{path}", content=urlencode(values), headers=OWN_PAGE
        )

    async def token(self) -> str:
        found = re.search(r'name="form_token" value="(\w+)"', await self.text())
        return found[1] if found else ""

    async def comment(self, body: str, **values: str) -> str:
        """Its id, after it was taken a second later than what was before."""
        self.site.world.clock.advance(seconds=1)
        sent = {"body": body} | ({} if self.account else GUEST) | values
        answer = await self.send("", **sent)
        assert answer.status_code == 303, answer.text
        found = re.search(r"#comment-(\w{15})$", answer.headers["location"])
        assert found, answer.headers
        return found[1]


def shown(page: Any) -> list[str]:
    """The texts of the comments, in the order of the page."""
    return [" ".join(each.text_content().split()) for each in page.find_class("comment-text")]


def nested(page: Any) -> list[tuple[int, str]]:
    """The same with the level of each."""
    return [
        (len(list(each.iterancestors("ol"))), " ".join(each.text_content().split()))
        for each in page.find_class("comment-text")
    ]


def number(page: Any) -> int:
    """The total in the heading."""
    found = page.xpath("//*[@id='comments-title']/small/text()")
    return int(found[0].replace(",", "")) if found else 0


def problems(answer: httpx.Response) -> list[str]:
    """The errors that a page shows beside its fields."""
    return [each.text_content() for each in html.fromstring(answer.text).find_class("problem")]


def focused(answer: httpx.Response) -> list[str]:
    """The names of the fields in which a page opens."""
    return html.fromstring(answer.text).xpath("//@autofocus/../@name")  # type: ignore[no-any-return]
