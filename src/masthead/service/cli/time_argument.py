"""Times as arguments of commands."""

from __future__ import annotations

import click

from masthead.engine.records.fields.values import read_moment


def parse_time(value: str, option: str) -> str:
    """The time in the format of stored records; '' for ''."""
    if not value:
        return ""
    parsed = read_moment(value)
    if parsed is None:
        raise click.BadParameter(
            f"{value!r} is not a date such as 2027-01-31T09:30:00Z", param_hint=option
        )
    return parsed
