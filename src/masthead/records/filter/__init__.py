"""The filter language of the record store: text to tree, without any idea of fields or SQL."""
