"""Files that not everyone may open, in an email: their addresses are signed, so that they open for
whoever got it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.engine.links.file_readers import is_open
from masthead.engine.links.file_uses import named_files
from masthead.engine.records.engine import Records
from masthead.features.media.collection import media
from masthead.features.media.signed_addresses import IN_EMAILS, sign_file

MAX_FILES: Final = 500
"""The most files of one email."""


async def signatures(records: Records, tenant_id: TenantId, texts: Iterable[str]) -> dict[str, str]:
    """Signatures by the ids of those files in the texts that not everyone may open."""
    ids = sorted(named_files(texts))[:MAX_FILES]
    if not ids:
        return {}
    found = await records.find_related(
        system(tenant_id),
        media,
        "id",
        ids,
        limit=len(ids),
        names=frozenset({"id", "private", "open_uses"}),
    )
    until = records.clock() + IN_EMAILS
    return {
        each["id"]: sign_file(records.keyring, tenant_id, each["id"], until)
        for each in found
        if not is_open(each)
    }
