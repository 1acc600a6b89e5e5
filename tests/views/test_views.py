"""The typed views say what the collections declare."""

from __future__ import annotations

import pytest
from tests.views.views import VIEWS, View


@pytest.mark.parametrize("view", VIEWS, ids=lambda each: each.name)
def test_a_view_is_current(view: View) -> None:
    assert view.path.read_text() == view.render(), "run `make views`"


@pytest.mark.parametrize("view", VIEWS, ids=lambda each: each.name)
def test_a_view_has_every_field(view: View) -> None:
    text = view.render()
    assert all(f'"{each.name}"' in text for each in view.collection.all_fields)
