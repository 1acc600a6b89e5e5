"""The way out: a tenant's posts, pages, members and media in formats others import."""
