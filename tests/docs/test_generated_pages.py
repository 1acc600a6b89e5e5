"""The reference pages that are made from the code are what the code says now."""

from __future__ import annotations

import pytest
from tests.docs.pages import FOLDER, PAGES

from masthead.features.site.collection import site_settings
from masthead.service.schema import registry


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_current(name: str) -> None:
    assert (FOLDER / name).read_text() == PAGES[name](), "run: make docs"


def test_every_page_of_the_folder_is_generated() -> None:
    assert {each.name for each in FOLDER.iterdir()} == set(PAGES)


def test_every_collection_says_what_it_holds() -> None:
    assert [each.name for each in registry.collections if not each.help.endswith(".")] == []


def test_every_site_setting_says_what_it_means() -> None:
    rows = PAGES["site-settings.md"]().splitlines()
    meanings = {row.split(" | ")[0].strip("| `"): row.split(" | ")[-1] for row in rows}
    for field in site_settings.fields:
        assert meanings[field.name].endswith(". |"), field.name
