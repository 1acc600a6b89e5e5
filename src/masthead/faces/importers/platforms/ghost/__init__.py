"""Ghost: one JSON document of database tables, and the members in a CSV file."""
