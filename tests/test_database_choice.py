"""Which database a test of a face runs on."""

from __future__ import annotations

from collections import Counter

import pytest
from tests import database_choice
from tests.database_choice import DATABASES, FACES, TESTS, chosen, is_of_a_face


def test_the_choice_is_the_same_on_every_machine() -> None:
    assert chosen("tests/v1/test_posts.py::test_a_draft[]") == "postgresql"
    assert chosen("tests/v1/test_posts.py::test_a_post[]") == "sqlite"


def test_both_databases_get_about_half_of_the_names() -> None:
    counted = Counter(chosen(f"tests/v1/test_posts.py::test_{number}[]") for number in range(1000))
    assert min(counted[each] for each in DATABASES) > 400


@pytest.mark.parametrize("folder", FACES)
def test_a_face_is_a_folder_of_tests(folder: str) -> None:
    assert is_of_a_face(TESTS / folder / "test_something.py")
    assert any((TESTS / folder).glob("test_*.py"))


def test_the_engine_is_no_face() -> None:
    assert not is_of_a_face(TESTS / "records" / "test_totals.py")


def test_a_test_runs_on_the_database_of_its_name(
    service: object, request: pytest.FixtureRequest
) -> None:
    """Here, below the faces, on both."""
    assert not database_choice.is_left_out(request.node)
