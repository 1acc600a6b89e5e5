"""`python -m bench.first_paint`: a reader's first page of the demo magazine on a slow phone.

Chromium with a CPU four times as slow and a line of slow 4G (1.6 Mbit/s down, 150 ms to the server
and back, as Lighthouse's devtools throttling applies them), without anything in its cache. Exits
with 1 if the first paint of a post takes more than 2 s, anything moves, more than 100 kB come
without the pictures, a third party is asked or a cookie is set.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Any, Final

from playwright.async_api import Browser, async_playwright
from tests.browser import CHROMIUM

from bench import datasets, process

SLOWDOWN: Final = 4
LATENCY_MS: Final = 562.5
BYTES_PER_SECOND: Final = 1_474_560 / 8
UPLOAD_BYTES_PER_SECOND: Final = 675_000 / 8
MAX_PAINT_MS: Final = 2_000
MAX_BYTES: Final = 100_000
PHONE: Final = {"width": 412, "height": 823}
_OBSERVE: Final = (
    "window.moved = 0; new PerformanceObserver(list => {"
    " for (const each of list.getEntries()) window.moved += each.value })"
    ".observe({type: 'layout-shift', buffered: true})"
)
_PAINT: Final = (
    "performance.getEntriesByName('first-contentful-paint').map(each => each.startTime)[0] || 0"
)


@dataclass
class Loaded:
    paint_ms: float = 0.0
    moved: float = 0.0
    cookies: int = 0
    sizes: dict[str, float] = field(default_factory=dict)
    """Bytes on the line by address."""

    def without_pictures(self) -> float:
        return sum(size for url, size in self.sizes.items() if "/media/" not in url)


def main() -> int:
    options = _options()
    with datasets.run_folder() as folder:
        command = [process.COMMAND, "serve", "--demo", f"--port={(port := process.free_port())}"]
        settings = {
            "MASTHEAD_DATA_DIR": str(folder / "data"),
            "MASTHEAD_BASE_URL": f"http://localhost:{port}",
        }
        with process.running(command, port, folder / "server.log", settings):
            _await_copies(port)
            return asyncio.run(_measure(port, options))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.first_paint", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


def _get(port: int, path: str) -> str:
    wanted = urllib.request.Request(f"http://127.0.0.1:{port}{path}")
    wanted.add_header("Host", f"demo.localhost:{port}")
    with urllib.request.urlopen(wanted, timeout=30) as answer:
        return str(answer.read().decode())


def _home(port: int) -> str:
    try:
        return _get(port, "/")
    except urllib.error.HTTPError:
        # The demo is seeded after the start.
        return ""


def _await_copies(port: int) -> None:
    """Until the worker has made the copies of the demo's pictures."""
    deadline = time.monotonic() + 180
    while "image/avif" not in _home(port):
        if time.monotonic() > deadline:
            raise SystemExit("The worker made no copies of the pictures in three minutes.")
        time.sleep(1)


async def _measure(port: int, options: argparse.Namespace) -> int:
    home = _get(port, "/")
    post = "/posts/" + home.split('href="/posts/', 1)[1].split('"', 1)[0]
    is_good = True
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--host-resolver-rules=MAP *.localhost 127.0.0.1"],
        )
        for name, path in (("post", post), ("home", "/")):
            origin = f"http://demo.localhost:{port}"
            loads = [await _loaded(browser, origin + path) for _ in range(options.rounds)]
            is_good &= _report(name, origin, loads)
        await browser.close()
    return 0 if is_good else 1


async def _loaded(browser: Browser, url: str) -> Loaded:
    context = await browser.new_context(viewport=PHONE, device_scale_factor=2)
    page = await context.new_page()
    await page.add_init_script(_OBSERVE)
    session = await context.new_cdp_session(page)
    await session.send("Network.enable")
    await session.send(
        "Network.emulateNetworkConditions",
        {
            "offline": False,
            "latency": LATENCY_MS,
            "downloadThroughput": BYTES_PER_SECOND,
            "uploadThroughput": UPLOAD_BYTES_PER_SECOND,
        },
    )
    await session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})
    loaded, addresses = Loaded(), dict[str, str]()

    def received(event: dict[str, Any]) -> None:
        addresses[event["requestId"]] = event["response"]["url"]

    def finished(event: dict[str, Any]) -> None:
        address = addresses.get(event["requestId"], "")
        loaded.sizes[address] = loaded.sizes.get(address, 0) + event["encodedDataLength"]

    session.on("Network.responseReceived", received)
    session.on("Network.loadingFinished", finished)
    await page.goto(url, wait_until="networkidle", timeout=60_000)
    loaded.paint_ms = await page.evaluate(_PAINT)
    loaded.moved = await page.evaluate("window.moved")
    loaded.cookies = len(await context.cookies())
    await context.close()
    return loaded


def _report(name: str, origin: str, loads: list[Loaded]) -> bool:
    paint = statistics.median(each.paint_ms for each in loads)
    moved = max(each.moved for each in loads)
    weight = max(each.without_pictures() for each in loads)
    others = {url for each in loads for url in each.sizes if not url.startswith(origin)}
    cookies = max(each.cookies for each in loads)
    is_met = (
        paint <= MAX_PAINT_MS and not moved and weight <= MAX_BYTES and not others and not cookies
    )
    print(
        f"{name}: first paint {paint:,.0f} ms"
        f" ({min(each.paint_ms for each in loads):,.0f} to"
        f" {max(each.paint_ms for each in loads):,.0f}), moved {moved:.3f},"
        f" {weight:,.0f} bytes without pictures, {sum(loads[0].sizes.values()):,.0f} with,"
        f" {len(loads[0].sizes)} requests, other hosts {sorted(others) or 'none'},"
        f" cookies {cookies}: {'met' if is_met else 'NOT MET'}"
    )
    return is_met


if __name__ == "__main__":
    raise SystemExit(main())
