"""Imports from other platforms. A reader for each platform yields the types of `source`, and
`write` stores them in batches. `tests/test_architecture.py` keeps the direction of imports."""
