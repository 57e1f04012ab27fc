"""Security headers. No page needs a script, a frame or another origin, so none is allowed.

There is no CORS: pages of other origins cannot read answers.
"""

from __future__ import annotations

_NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

SECURITY_HEADERS: dict[str, str] = {
    "Content-Security-Policy": _NOTHING,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""On every response that does not say otherwise."""

REPORT_POLICY = f"{_NOTHING}; style-src 'unsafe-inline'; img-src data:"
"""For report pages and SVG figures, which carry their styles inside; still no script."""
