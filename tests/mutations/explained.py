# Lines of code, each in one piece.
# ruff: noqa: E501
"""Mutants that no test can find, as they do what the code does, each with the reason.

A mutant is named by the lines that it changes, so it is still known when code is added above it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Explained:
    file: str
    """Below `src/masthead/`."""
    old: str
    """The line as it is, without indentation."""
    new: tuple[str, ...]
    """Lines that mutants have in its place."""
    because: str


_NAME_OF_DIGEST = "OpenSSL knows its digests in upper and lower case."
_NO_REASON = "A call that is allowed has no reason to begin with."

EXPLAINED = (
    Explained(
        "features/webhooks/signing.py",
        "return secrets.token_hex(32)",
        ("return secrets.token_hex(None)",),
        "Python's own number of bytes is 32, too. We name ours, as it may change.",
    ),
    Explained(
        "features/webhooks/signing.py",
        'return "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()',
        ('return "v1," + base64.b64encode(hmac.digest(key, signed, "SHA256")).decode()',),
        _NAME_OF_DIGEST,
    ),
    Explained(
        "features/payments/signatures.py",
        'return hmac.digest(secret.encode(), signed, "sha256").hex()',
        ('return hmac.digest(secret.encode(), signed, "SHA256").hex()',),
        _NAME_OF_DIGEST,
    ),
    Explained(
        "features/webhooks/schedule.py",
        "requested = min(retry_after or 0, next_delays[-1])",
        ("requested = min(retry_after or 1, next_delays[-1])",),
        "No delay of a policy is shorter than a second.",
    ),
    Explained(
        "identity/limits/sliding_window.py",
        "if not window.total or (window.oldest > now - length and window.newest <= now + length):",
        (
            "if not window.total and (window.oldest > now - length and window.newest <= now + length):",
            "if not window.total or (window.oldest > now + length and window.newest <= now + length):",
            "if not window.total or (window.oldest > now - length and window.newest < now + length):",
            "if not window.total or (window.oldest > now - length and window.newest <= now - length):",
        ),
        "Where no slot has to leave, the window is made anew, with the same slots.",
    ),
    Explained(
        "identity/limits/sliding_window.py",
        "for last, count in zip(*window.slots(), strict=True):",
        (
            "for last, count in zip(*window.slots(), strict=None):",
            "for last, count in zip(*window.slots(), ):",
            "for last, count in zip(*window.slots(), strict=False):",
        ),
        "A slot has a time and a count, so both lists are as long.",
    ),
    Explained(
        "identity/limits/sliding_window.py",
        'raise AssertionError("an empty window has room")',
        (
            "raise AssertionError(None)",
            'raise AssertionError("XXan empty window has roomXX")',
            'raise AssertionError("AN EMPTY WINDOW HAS ROOM")',
        ),
        "It is never raised: a type checker needs it.",
    ),
    Explained(
        "identity/limits/sliding_window.py",
        "return 0",
        ("return 1",),
        "A wait for midnight of a microsecond is never longer than another limit's, and one of the "
        "limits has refused. The `return 0` of the windows is killed.",
    ),
    Explained(
        "identity/limits/sliding_window.py",
        "return Decision(allowed, retry_after=retry_after, reason=None if allowed else reason)",
        (
            "return Decision(allowed, retry_after=retry_after, "
            "reason=None if (allowed) and False else reason)",
        ),
        _NO_REASON,
    ),
    Explained(
        "identity/limits/sliding_window.py",
        "None if allowed else reason,",
        ("None if (allowed) and False else reason,",),
        _NO_REASON,
    ),
    Explained(
        "features/payments/subscription_state.py",
        "return state.at, _BEST_FIRST.index(member_status) if member_status else -1, state.status",
        (
            "return state.at, _BEST_FIRST.index(member_status) if member_status else -2, state.status",
        ),
        "Both are lower than the place of any status.",
    ),
    Explained(
        "features/payments/subscription_state.py",
        "level = max(levels, key=lambda each: (bool(each), (worth or {}).get(each, 0), each))",
        ("level = max(levels, key=lambda each: (bool(None), (worth or {}).get(each, 0), each))",),
        "No price is below zero, and '' sorts first: no level comes last anyway.",
    ),
    Explained(
        "engine/records/filter/parser.py",
        'if number in (float("inf"), float("-inf")):',
        (
            'if number in (float("INF"), float("-inf")):',
            'if number in (float("inf"), float("-INF")):',
        ),
        "Python reads infinity in upper and lower case.",
    ),
    Explained(
        "engine/records/filter/ast.py",
        "return hash((type(self.value), self.value))",
        (
            "return hash(None)",
            "return hash((type(None), self.value))",
        ),
        "Literals that are equal have the same hash in any case: this one only makes sets faster.",
    ),
    Explained(
        "engine/records/filter/lexer.py",
        "index = match.lastindex or 0",
        ("index = match.lastindex or 1",),
        "One of the groups always matches: the number is there for the type checker.",
    ),
)
