"""Ghost: one JSON document of database tables, with the members in a CSV beside it."""
