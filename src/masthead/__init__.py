"""Masthead: a multi-tenant blog and membership platform."""

__version__ = "0.1.0"
