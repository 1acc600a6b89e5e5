"""The schema's history: numbered, forward-only revisions under `versions/`.

The first creates the schema of the oldest release that can be upgraded (`squash.py` writes it).
`python -m masthead.storage.migrations.render` writes the next one from the declared tables.
"""
