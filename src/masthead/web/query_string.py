"""Parses query strings, with limits on their length and the number of parameters."""

from __future__ import annotations

from urllib.parse import parse_qsl

from masthead.base.errors import BadRequest

MAX_QUERY_BYTES = 16_000
MAX_PARAMETERS = 100


def parse_query_string(query_string: bytes, encoding: str) -> dict[str, str]:
    """The first value of each name."""
    if len(query_string) > MAX_QUERY_BYTES:
        raise BadRequest(f"The query string has more than {MAX_QUERY_BYTES:,} bytes.")
    text = query_string.decode(encoding, "replace")
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_PARAMETERS)
    except ValueError:
        raise BadRequest(f"The query string has more than {MAX_PARAMETERS} parameters.") from None
    return dict(reversed(pairs))
