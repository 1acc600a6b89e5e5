"""`make screenshots`: every page of the demo magazine and of the admin, as a person sees it.

Each page is taken on a desktop and on a phone, light and dark, into `build/screenshots/`. Those of
the admin are the samples of its tests, also the empty and the refused ones. The pictures that the
documentation shows are written to `docs/images/`, with the list of what they were made from
(`pictures.py`); `--docs` makes only those.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import httpx
from PIL import Image
from playwright.async_api import TimeoutError as BrowserTimeout
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, sync_playwright
from tests.browser import ARGUMENTS, CHROMIUM, REFUSED, launched
from tests.browser import Browser as WatchedBrowser
from tests.docs.pictures import IMAGES, NAMES, write_list
from tests.faces.admin.every_page import SAMPLES, Sample, Windows, every_page

ROOT = Path(__file__).parents[2]
PASSWORD = "a-long-enough-password"
READER = "reader@demo.example"

VIEWS: dict[str, ViewportSize] = {
    "desktop": {"width": 1280, "height": 860},
    "phone": {"width": 375, "height": 812},
}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
MOST = 5_000
IN_DOCS_WIDTH = 960

GUEST_PAGES = {
    "site-home": "/",
    "site-post": "/posts/the-lighthouse-keeps-its-own-hours",
    "site-comments": "/posts/the-lighthouse-keeps-its-own-hours#comments",
    "site-paywall": "/posts/where-your-subscription-went-the-year-in-numbers#wall",
    "site-tag": "/tags/harbour",
    "site-author": "/authors/nell-ashby",
    "site-archive": "/archive",
    "site-search": "/search?q=lighthouse",
    "site-page": "/about",
    "site-not-found": "/nothing-here",
    "site-tiers": "/member/tiers",
    "site-sign-up": "/member/sign-up",
    "site-sign-in": "/member/sign-in",
}
MEMBER_PAGES = {"site-account": "/member/account", "site-delete": "/member/delete"}
ADMIN_PAGES = {"admin-home": "/admin", "admin-posts": "/admin/posts", "admin-staff": "/admin/staff"}
"""As the documentation shows them: with the demo's content alone."""


@dataclass(frozen=True)
class Demo:
    blog: str
    login: str
    password: str


@contextmanager
def demo() -> Iterator[Demo]:
    """The demo magazine, served from a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="masthead-") as folder:
        command = [sys.executable, "-m", "masthead", "serve", "--demo", "--port", "0"]
        process = subprocess.Popen(
            [*command, "--data-dir", folder], stdout=subprocess.PIPE, text=True
        )
        try:
            yield _printed(process)
        finally:
            process.terminate()
            process.wait(timeout=120)


def _printed(process: subprocess.Popen[str]) -> Demo:
    assert process.stdout is not None
    blog = ""
    for line in process.stdout:
        if line.startswith("blog: "):
            blog = line.removeprefix("blog: ").strip()
        if found := re.match(r"admin: \S+ login: (\S+) password: (\S+)", line):
            return Demo(blog, found[1], found[2])
    raise SystemExit("The demo did not start.")


def add_reader(demo: Demo) -> None:
    # Only browsers find every name that ends in localhost.
    host = demo.blog.removeprefix("http://")
    collections = f"http://127.0.0.1:{host.rpartition(':')[2]}/api/collections"
    staff = {"identity": demo.login, "password": demo.password}
    address = f"{collections}/_superusers/auth-with-password"
    signed_in = httpx.post(address, json=staff, headers={"host": host}).json()
    reader = {"email": READER, "name": "Ada Brook", "newsletter": True}
    secret = {"password": PASSWORD, "passwordConfirm": PASSWORD}
    headers = {"authorization": signed_in["token"], "host": host}
    address = f"{collections}/blog_members/records"
    httpx.post(address, json=reader | secret, headers=headers).raise_for_status()


def sign_in(page: Page, address: str, email: str, password: str) -> None:
    page.goto(address)
    page.get_by_label("Email address", exact=True).fill(email)
    page.locator("input[type=password]").fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url(lambda url: "sign-in" not in url)


def pages_of(context: BrowserContext, demo: Demo) -> Iterator[tuple[str, Page]]:
    page = context.new_page()
    for name, path in GUEST_PAGES.items():
        page.goto(demo.blog + path, wait_until="networkidle")
        yield name, page
    sign_in(page, f"{demo.blog}/member/sign-in", READER, PASSWORD)
    for name, path in MEMBER_PAGES.items():
        page.goto(demo.blog + path, wait_until="networkidle")
        yield name, page
    sign_in(page, f"{demo.blog}/admin/sign-in", demo.login, demo.password)
    for name, path in ADMIN_PAGES.items():
        page.goto(demo.blog + path, wait_until="networkidle")
        yield name, page
    page.goto(f"{demo.blog}/admin/posts", wait_until="networkidle")
    page.get_by_role("link", name="Can the tide mill turn again?").click()
    page.wait_for_load_state("networkidle")
    yield "admin-editor", page


async def take_admin(folder: Path, wanted: str) -> None:
    """The samples whose name begins with one of the `wanted`, to their end."""
    with tempfile.TemporaryDirectory(prefix="masthead-") as data:
        async with every_page(Path(data)) as pages, launched() as chromium:
            windows = Windows(pages, WatchedBrowser(chromium))
            for view, size in VIEWS.items():
                windows.size = size
                for sample in SAMPLES:
                    if sample.is_page and sample.name.startswith(tuple(wanted.split(","))):
                        await take_sample(windows, sample, folder, view)
    if REFUSED:
        raise SystemExit("\n".join(REFUSED))


async def take_sample(windows: Windows, sample: Sample, folder: Path, view: str) -> None:
    try:
        page = await windows.at(sample)
    except BrowserTimeout:
        # What is done on it needs a control that only a desktop shows.
        sys.stdout.write(f"not on a {view}: {sample.name}\n")
        return
    await page.wait_for_load_state("networkidle")
    # As high as the page, so that bars stand at its end.
    height = await page.evaluate("document.documentElement.scrollHeight")
    await page.set_viewport_size({"width": windows.size["width"], "height": min(height, MOST)})
    await page.evaluate("window.scrollTo(0, 0)")
    for scheme in SCHEMES:
        await page.emulate_media(color_scheme=scheme)
        path = folder / f"admin-{sample.name}-{view}-{scheme}.png"
        await page.screenshot(path=path)
    await page.emulate_media(color_scheme="light")


def take_all(browser: Browser, demo: Demo, folder: Path, *, only_docs: bool) -> None:
    for view, size in VIEWS.items():
        for scheme in SCHEMES:
            is_in_docs = (view, scheme) == ("desktop", "light")
            if only_docs and not is_in_docs:
                continue
            options: dict[str, object] = {"viewport": size, "color_scheme": scheme}
            context = browser.new_context(**options)  # type: ignore[arg-type]
            for name, page in pages_of(context, demo):
                path = folder / f"{name}-{view}-{scheme}.png"
                path.write_bytes(page.screenshot())
                if is_in_docs and name in NAMES:
                    write_for_docs(name, path.read_bytes())
            context.close()
    write_list()


def write_for_docs(name: str, screenshot: bytes) -> None:
    with Image.open(io.BytesIO(screenshot)) as picture:
        height = picture.height * IN_DOCS_WIDTH // picture.width
        small = picture.convert("RGB").resize((IN_DOCS_WIDTH, height), Image.Resampling.LANCZOS)
        small.save(IMAGES / f"{name}.webp", quality=80, method=6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", action="store_true", help="only the pictures in docs/images")
    parser.add_argument(
        "--admin",
        metavar="NAME",
        help="only samples of the admin whose names begin so; several with commas",
    )
    wanted = parser.parse_args()
    folder = ROOT / "build" / "screenshots"
    for each in (folder, IMAGES):
        each.mkdir(parents=True, exist_ok=True)
    if CHROMIUM is None:
        raise SystemExit("Install Chromium: the pages are shown in it.")
    if wanted.admin is None:
        with demo() as running, sync_playwright() as playwright:
            add_reader(running)
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            take_all(browser, running, folder, only_docs=wanted.docs)
            browser.close()
    if not wanted.docs:
        asyncio.run(take_admin(folder, wanted.admin or ""))
    sys.stdout.write(f"{len(list(folder.glob('*.png')))} pictures in {folder.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
