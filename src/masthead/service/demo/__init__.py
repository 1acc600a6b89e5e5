"""The demo tenant: a small coastal magazine with posts, members and comments."""
