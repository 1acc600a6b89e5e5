"""Substack: lists in CSV, and one HTML file for each post."""
