"""Measures Masthead and PocketBase in turns on one machine: `python -m bench`."""
