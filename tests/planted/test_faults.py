"""The planted faults still fit the code, so that `make test-planted` can't rot unseen."""

from __future__ import annotations

import ast

import pytest
from tests.planted.__main__ import names_misspelt
from tests.planted.faults import FAULTS, MISSPELT, ROOT, Fault, Misspelt


@pytest.mark.parametrize("fault", FAULTS, ids=lambda each: each.file)
def test_what_a_fault_replaces_occurs_once_and_its_tests_exist(fault: Fault) -> None:
    sound = (ROOT / fault.path).read_text()
    planted = fault.planted_in(sound)
    assert planted != sound
    if fault.file.endswith(".py"):
        # It must fail a test, not the import.
        ast.parse(planted)
    for each in fault.selection:
        assert (ROOT / each).exists()


def test_each_of_the_ten_is_in_another_room() -> None:
    assert len({fault.file.rpartition("/")[0] for fault in FAULTS}) == len(FAULTS) == 10


@pytest.mark.parametrize("text", ["", "old old"], ids=["gone", "twice"])
def test_a_fault_that_no_longer_fits_is_said(text: str) -> None:
    fault = Fault("a fault", "app.py", "old", "new", ())
    with pytest.raises(LookupError, match=r"src/masthead/app\.py"):
        fault.planted_in(text)


@pytest.mark.parametrize("misspelt", MISSPELT, ids=lambda each: each.file)
def test_what_is_misspelt_occurs_once(misspelt: Misspelt) -> None:
    fault = misspelt.fault
    assert fault.planted_in((ROOT / fault.path).read_text())


def test_ten_names_are_misspelt_each_in_another_file() -> None:
    assert len({each.file for each in MISSPELT}) == len(MISSPELT) == 10


@pytest.mark.parametrize(
    ("said", "is_found"),
    [
        ('7: error: No overload variant of "__getitem__" of "PostRecord" matches', True),
        ('8: error: No overload variant of "__getitem__" of "PostRecord" matches', False),
        ('7: error: No overload variant of "open" matches', False),
        ('17: error: No overload variant of "__getitem__" of "PostRecord" matches', False),
    ],
    ids=["the name", "another line", "another error", "a longer number"],
)
def test_only_the_error_about_the_misspelt_name_counts(said: str, is_found: bool) -> None:
    output = f'src/a.py:{said} argument type "str"  [call-overload]\n'
    assert names_misspelt(output, "src/a.py", 7) is is_found
