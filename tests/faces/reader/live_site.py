"""A site on a real socket with a payment processor and a mail folder, for a browser to read."""

from __future__ import annotations

import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.databases import fresh_url
from tests.features.payments.processor import SECRET, Processor
from tests.features.payments.processor_api import KEY, ProcessorApi
from tests.outside.mail.offices import Office, text_of
from tests.served import serving, serving_over_tls
from tests.tls import Receiver
from tests.world import RunningClock, TenantWorld, open_world


@dataclass
class LiveSite:
    origin: str
    tenant: TenantWorld
    api: ProcessorApi
    office: Office

    @property
    def processor(self) -> Processor:
        return Processor(self.tenant)

    async def mailed_link(self, address: str, path: str) -> str:
        """The newest link to `path` in the mails to an address."""
        links = [
            link
            for mail in await self.office.mails()
            if mail["to"].addresses[0].addr_spec == address
            for link in re.findall(r"https?://[^/\s]+(/\S*)", text_of(mail))
        ]
        return self.origin + [link for link in links if link.startswith(path)][-1]


@asynccontextmanager
async def live_site(
    engine: str, folder: Path, *, over_tls: bool = False
) -> AsyncIterator[LiveSite]:
    """`over_tls`: served as `masthead serve` does it, with HTTP/2."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        scheme = "https" if over_tls else "http"
        origin = f"{scheme}://127.0.0.1:{listener.getsockname()[1]}"
        async with Receiver(None) as receiver:
            api = ProcessorApi(receiver)
            world = await open_world(
                fresh_url(engine, folder),
                folder,
                RunningClock(),
                MASTHEAD_DEFAULT_TENANT="demo",
                MASTHEAD_BASE_URL=origin,
                MASTHEAD_PAYMENT_API_URL=api.url,
            )
            tenant = await world.new_tenant("demo", slug="demo")
            await tenant.settings(
                site_name="Tideline",
                member_payment_secret_key=KEY,
                member_payment_webhook_secret=SECRET,
            )
            tier = {"name": "Supporter", "price": 400, "currency": "gbp"}
            await tenant.create("tiers", {**tier, "payment_price_id": "price_month"})
            office = Office(world, world.parts.settings.data_dir / "mail")
            served = (
                serving_over_tls(world.http, listener, folder)
                if over_tls
                else serving(world.http, listener=listener)
            )
            async with served:
                yield LiveSite(origin, tenant, api, office)
            await world.parts.close()
