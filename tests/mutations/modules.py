"""The modules that `make mutations` changes, and the tests near each of them.

The tests are those that need no service: each of a module's hundreds of mutants costs one run of
them. All mutants are run in forks of a process that has imported the tests, so a value that is made
in a `parametrize` is always made by the code as it is.
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
    Module(
        "limits",
        ("identity/limits/sliding_window.py",),
        ("identity/limits/test_rate_limits.py",),
    ),
    Module(
        "retry schedule",
        ("features/webhooks/schedule.py",),
        ("features/webhooks/test_schedule.py",),
    ),
    Module(
        "payment states",
        ("features/payments/subscription_state.py",),
        ("features/payments/test_subscription_state.py",),
    ),
    Module(
        "gating",
        ("features/posts/site.py", "engine/links/file_readers.py"),
        ("features/posts/test_site_rules.py", "engine/test_file_readers.py"),
    ),
    Module(
        "access",
        ("engine/records/access.py",),
        ("engine/records/test_access.py",),
    ),
    Module(
        "rules of collections",
        ("engine/records/collection.py", "engine/records/changes.py"),
        ("engine/records/test_collection.py", "engine/records/test_access.py"),
    ),
    Module(
        "language of rules",
        tuple(
            f"engine/records/filter/{each}.py" for each in ("ast", "conditions", "lexer", "parser")
        ),
        (
            "engine/records/filter/test_filter_conditions.py",
            "engine/records/filter/test_filter_parser.py",
        ),
    ),
)
