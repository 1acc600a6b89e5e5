"""Masthead: a multi-tenant blog and membership platform."""
