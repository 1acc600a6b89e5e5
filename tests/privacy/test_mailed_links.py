"""Mail scanners open every link they find: no mail about data protection minds."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit

from tests.mail.offices import everything
from tests.privacy.asked import DELETE, EXPORT, deletion, mails_of, member_deletion, outsider
from tests.world import open_world

from masthead.mail.message import Letter

SCANNER = {"accept": "text/html", "user-agent": "Mozilla/5.0 (link check)"}


def links_in(letter: Letter) -> set[str]:
    return set(re.findall(r"https?://[^\s<>\"]+", f"{letter.text} {unescape(letter.html)}"))


async def test_a_scanner_changes_nothing(database_url: str, tmp_path: Path) -> None:
    world = await open_world(database_url, tmp_path)
    try:
        tenant = await world.new_tenant()
        owner, member = await tenant.owner(), await tenant.member()
        asked = await member.api.post(DELETE, json=member_deletion(member.id))
        await outsider(tenant).post(DELETE, json=deletion(tenant))
        await owner.api.post(EXPORT, json={"type": "tenant"})
        mails = await mails_of(world, tenant.id)
        # What an erasure leaves to be told has links to the site at most.
        before = await everything(world)
        links = set().union(*(links_in(mail.letter) for mail in mails))
        request_id = asked.json()["request_id"]
        paths = {urlsplit(link).path for link in links}
        assert f"/api/gdpr/delete/{request_id}/cancel" in paths
        assert {path.rpartition("/")[2] for path in paths if "delete" in path} == {
            "cancel",
            "confirm",
        }
        assert any(path.startswith(f"{EXPORT}/") for path in paths)
        for link in links:
            for method in ("GET", "HEAD"):
                answer = await world.client(tenant.host).request(method, link, headers=SCANNER)
                assert answer.status_code < 500
        assert await everything(world) == before
    finally:
        await world.parts.close()
