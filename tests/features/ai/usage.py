"""The ledger's rows of a tenant."""

from __future__ import annotations

from tests.features.ai.conftest import AiWorld

from masthead.features.ai.ledger import ai_usage
from masthead.storage.database import EVERY_TENANT


async def usage_of(ai: AiWorld, tenant_id: str) -> list[tuple[object, ...]]:
    """Rows of day, payer, calls, tokens in, tokens out."""
    database = ai.world.parts.database
    statement = database.compile(ai_usage.select().where(ai_usage.c.tenant_id == tenant_id))
    rows = await database.fetch(EVERY_TENANT, statement, statement.bind({}))
    return [tuple(row)[1:] for row in rows]
