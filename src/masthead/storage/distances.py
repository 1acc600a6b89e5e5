"""`geo_distance(lon_a, lat_a, lon_b, lat_b)`: kilometres on a sphere, NULL if a value is missing.

The formula with `atan2` has no value outside its domain: the more common one with `acos` fails on
PostgreSQL when rounding makes the cosine greater than one.
"""

from __future__ import annotations

from masthead.storage.dialects import Expression, Real, write_as
from masthead.storage.sqlite.distances import DISTANCE_FUNCTION


class geo_distance(Expression):
    type = Real()


write_as(
    geo_distance,
    sqlite=f"{DISTANCE_FUNCTION}({{0}}, {{1}}, {{2}}, {{3}})",
    postgresql=(
        "(SELECT 6371 * atan2("
        "sqrt(power(cos(b) * sin(d), 2) + power(cos(a) * sin(b) - sin(a) * cos(b) * cos(d), 2)), "
        "sin(a) * sin(b) + cos(a) * cos(b) * cos(d)) "
        "FROM (SELECT radians(CAST({1} AS double precision)) AS a, "
        "radians(CAST({3} AS double precision)) AS b, "
        "radians(CAST({2} AS double precision) - CAST({0} AS double precision)) AS d) AS angles)"
    ),
)
