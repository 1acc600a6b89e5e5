"""Two commits of Masthead on the same work, in turn: see `__main__.py`."""
