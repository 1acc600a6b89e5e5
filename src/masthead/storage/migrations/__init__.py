"""The schema's history: numbered, forward-only revisions under `versions/`.

`python -m masthead.storage.migrations.render` writes the next one from the declared tables.
"""
