"""The modules that `make mutations` changes, and the tests near each of them.

The tests are those that need no service: each of a module's hundreds of mutants costs one run of
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Module:
    name: str
    files: tuple[str, ...]
    """Below `src/masthead/`."""
    tests: tuple[str, ...]
    """Below `tests/`."""

    @property
    def sources(self) -> list[str]:
        return [f"src/masthead/{each}" for each in self.files]

    @property
    def selection(self) -> list[str]:
        return [f"tests/{each}" for each in self.tests]


MODULES = (
    Module(
        "signing",
        ("features/webhooks/signing.py", "features/payments/signatures.py"),
        ("features/webhooks/test_signing.py", "features/payments/test_signatures.py"),
    ),
)
