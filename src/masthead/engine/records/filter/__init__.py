"""The filter language of the record store: parses text to a tree and knows no fields or SQL."""
