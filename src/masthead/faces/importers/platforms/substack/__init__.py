"""Substack: CSV files, and one HTML file per post."""
