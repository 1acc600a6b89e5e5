"""Imports from other platforms: a reader per platform yields the types of `source`, and `run`
writes them."""
