"""Every page of the admin has a sample, by which other tests look at it."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, cast

from tests.faces.admin.every_page import SAMPLES

from masthead.faces.admin.endpoint import AdminPages
from masthead.faces.admin.routes import admin_routes
from masthead.web.dispatch import Route


@cache
def routes() -> list[Route]:
    return admin_routes(AdminPages(cast(Any, None), cast(Any, None)))


def route_of(path: str) -> Route:
    path = path.partition("?")[0]
    return next(each for each in routes() if each.match(path) is not None)


def test_every_page_has_a_sample() -> None:
    shown = {route_of(re.sub(r"\{[^}]*\}", "x", each.address)).path for each in SAMPLES}
    # A form alone, or a call of a script, has no page.
    missing = [each.path for each in routes() if "GET" in each.actions and each.path not in shown]
    assert missing == [], "add a line to SAMPLES in tests/faces/admin/every_page.py"


def test_samples_have_names_of_their_own() -> None:
    names = [each.name for each in SAMPLES]
    assert len(names) == len(set(names))
