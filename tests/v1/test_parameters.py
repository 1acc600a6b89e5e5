"""Query parameters are parsed strictly: values outside the description are refused."""

from __future__ import annotations

import pytest

from masthead.base.errors import Invalid
from masthead.web.v1.parameters import PAGING, read_query


@pytest.mark.parametrize(
    "written",
    ["", "0", "101", "-1", "1.5", "1_0", "%2B1", "+1", "1+", "%D9%A3", "ten", "9" * 5_000],
)
def test_a_number_is_written_in_plain_digits_within_its_limits(written: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_query(f"per_page={written}".encode(), PAGING)
    assert set(refused.value.problems) == {"per_page"}


def test_numbers_within_their_limits_are_accepted() -> None:
    values, ignored = read_query(b"per_page=100&page=3", PAGING)
    assert (values["per_page"], values["page"], values["cursor"]) == (100, 3, None)
    assert ignored == []
