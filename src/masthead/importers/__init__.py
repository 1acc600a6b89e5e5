"""Moving in from other platforms: each source is read into the same few shapes, and one run
writes them."""
