"""Exports a tenant's posts, pages, members and media in formats that other platforms import."""
