"""Masthead beside PocketBase, measured alternately on one machine: `python -m bench`."""
