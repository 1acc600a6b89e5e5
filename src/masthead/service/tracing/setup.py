"""Opens the traces of a process if the operator wants them. Otherwise OpenTelemetry is not
imported; it is an extra."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead.base.config.settings import Settings, SettingsError

if TYPE_CHECKING:
    from masthead.service.tracing.spans import Traces


def open_traces(settings: Settings) -> Traces | None:
    if not settings.traces:
        return None
    try:
        from masthead.service.tracing.spans import Traces
    except ModuleNotFoundError as error:
        raise SettingsError(
            "MASTHEAD_TRACES needs OpenTelemetry, which is not installed: run "
            "pip install 'masthead[otel]', or switch it off."
        ) from error
    try:
        return Traces()
    except ValueError as error:
        raise SettingsError(f"OpenTelemetry refuses its OTEL_ variables: {error}") from error
