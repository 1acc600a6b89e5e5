"""A tenant that takes payments."""

from __future__ import annotations

import pytest
from tests.features.payments.processor import Processor, new_processor
from tests.world import World


@pytest.fixture
async def processor(app: World) -> Processor:
    return await new_processor(app)
