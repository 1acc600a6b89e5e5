"""docs/api.md lists exactly the endpoints, scopes and error codes that there are."""

from __future__ import annotations

import re
from pathlib import Path

from masthead.identity.scopes import ALIASES, SCOPES
from masthead.service.app import V1_TABLE
from masthead.web.cors import EXPOSED_HEADERS
from masthead.web.v1.errors import RENAMED_IN_B, TABLE
from masthead.web.v1.routes import PREFIX

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text()


def test_every_endpoint_is_documented_with_its_scope_and_nothing_else() -> None:
    rows = re.findall(r"^\| `([A-Z]+ /[^`]+)` \| `([^|]+)` \|", PAGE, re.MULTILINE)
    existing = {
        f"{route.method} {PREFIX}{route.path}": "` or `".join((route.scope, *route.other_scopes))
        for route in V1_TABLE
    }
    assert dict(rows) == existing
    assert len(rows) == len(existing)


def test_every_scope_is_documented_in_the_words_of_the_code() -> None:
    rows = re.findall(r"^\| `([a-z-]+:[a-z]+)` \| ([^|]+) \|", PAGE, re.MULTILINE)
    assert dict(rows) == SCOPES
    for alias, scope in ALIASES.items():
        assert re.search(rf"`{alias}` is\s+`{scope}`", PAGE)


def test_every_error_code_is_documented_with_its_statuses() -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \| ([\d, ]+) \|", PAGE, re.MULTILINE)
    documented = {code: {int(status) for status in statuses.split(", ")} for code, statuses in rows}
    existing: dict[str, set[int]] = {}
    for _, status, code in TABLE:
        existing.setdefault(code, set()).add(status)
    assert documented == existing
    assert all(f"`{name}`" in PAGE for name in RENAMED_IN_B.values())


def test_every_query_parameter_and_header_is_documented() -> None:
    for route in V1_TABLE:
        for parameter in route.parameters:
            is_cursor = parameter.kind == "cursor"
            assert (parameter.name if is_cursor else f"`{parameter.name}`") in PAGE
    assert all(f"`{name}`" in PAGE for name in EXPOSED_HEADERS)
