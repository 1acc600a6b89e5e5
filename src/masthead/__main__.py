"""`python -m masthead` is the `masthead` command."""

from masthead.cli.main import run

run()
