"""Moments as arguments of commands."""

from __future__ import annotations

import click

from masthead.records.fields.values import read_moment


def moment(written: str, option: str) -> str:
    """Our own text of the moment; empty stays empty. Wrong usage names the option."""
    if not written:
        return ""
    read = read_moment(written)
    if read is None:
        raise click.BadParameter(
            f"{written!r} is not a date such as 2027-01-31T09:30:00Z", param_hint=option
        )
    return read
