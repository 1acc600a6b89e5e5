from __future__ import annotations

import pytest

from masthead.errors import Invalid
from masthead.identity.setup import check_custom_domain


@pytest.mark.parametrize(
    ("written", "stored"),
    [("", ""), ("Blog.Example.COM", "blog.example.com"), (" example.org. ", "example.org")],
)
def test_a_custom_domain_is_stored_lower_case(written: str, stored: str) -> None:
    assert check_custom_domain(written, "masthead.example") == stored


@pytest.mark.parametrize(
    "written",
    [
        "localhost",
        "192.0.2.1",
        "[2001:db8::1]",
        "example.com:8080",
        "https://example.com",
        "a b.example",
        "bücher.example",
        "masthead.example",
        "other.masthead.example",
    ],
)
def test_what_is_no_domain_of_the_tenant_is_refused(written: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_custom_domain(written, "masthead.example")
    assert list(refused.value.problems) == ["custom_domain"]
