"""Distances on SQLite, whose own trigonometric functions are missing from some builds."""

from __future__ import annotations

import sqlite3
from math import atan2, cos, hypot, isfinite, radians, sin

DISTANCE_FUNCTION = "masthead_distance"
RADIUS_KM = 6371
"""As in PocketBase."""


def add_distance(connection: sqlite3.Connection) -> None:
    connection.create_function(DISTANCE_FUNCTION, 4, _distance, deterministic=True)


def _distance(
    lon_a: float | None, lat_a: float | None, lon_b: float | None, lat_b: float | None
) -> float | None:
    if lon_a is None or lat_a is None or lon_b is None or lat_b is None:
        return None
    if not isfinite(lon_a + lat_a + lon_b + lat_b):
        return None
    a, b, d = radians(lat_a), radians(lat_b), radians(lon_b - lon_a)
    across = hypot(cos(b) * sin(d), cos(a) * sin(b) - sin(a) * cos(b) * cos(d))
    return RADIUS_KM * atan2(across, sin(a) * sin(b) + cos(a) * cos(b) * cos(d))
