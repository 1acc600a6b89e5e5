"""Reads WordPress exports (WXR 1.0 to 1.2); `source.open_wordpress` opens one."""
