"""`make catalogs` and `make catalogs-check`: the words of the source, and their translations."""
