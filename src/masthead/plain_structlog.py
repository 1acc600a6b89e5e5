"""structlog, loaded without rich. `logs` gets it from here, and comes first in every process.

Where rich is installed structlog loads it, to draw tracebacks on terminals. Ours are text, and rich
is a noticeable part of a command's start.
"""

from __future__ import annotations

import sys

__all__ = ["structlog"]

if "rich" in sys.modules:
    import structlog
else:
    # How Python is told that there is none.
    sys.modules["rich"] = None  # type: ignore[assignment]
    try:
        import structlog
    finally:
        del sys.modules["rich"]
