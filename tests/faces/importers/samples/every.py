"""All exports of our own."""

from __future__ import annotations

from typing import Final

from tests.faces.importers.samples import ghost, substack, wordpress

SAMPLES: Final = [*wordpress.SAMPLES, *ghost.SAMPLES, *substack.SAMPLES]
