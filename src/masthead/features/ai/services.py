"""The services of AI for the faces."""

from __future__ import annotations

import msgspec

from masthead.features.ai.budget import Budgets
from masthead.features.ai.generation import Generator
from masthead.features.ai.ledger import Ledger
from masthead.features.ai.open_streams import OpenStreams
from masthead.web.services import WebServices


class AiServices(msgspec.Struct, frozen=True):
    generator: Generator
    budgets: Budgets


def build_ai(web: WebServices) -> AiServices:
    store, now = web.limit_store, web.records.clock
    generator = Generator(web.streams, Ledger(web.database, now), OpenStreams())
    longest = generator.timeouts.longest_call
    budgets = Budgets(store, generator.ledger, longest_call_seconds=longest, now=now)
    return AiServices(generator, budgets)
