"""A stand-alone SVG file made fit to stand inside a page: own identifiers, the page's colours."""

from __future__ import annotations

import re

from qreplace.report.palette import VARIABLES

_HEAD = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>", re.DOTALL)
_ROOT = re.compile(r"<svg\b[^>]*>")
_VIEW_BOX = re.compile(r'viewBox="([0-9. -]+)"')
_COLOUR = re.compile("|".join(VARIABLES))
_STYLE = re.compile(r"<style\b.*?</style>", re.DOTALL)


def inline(data: bytes, name: str) -> str:
    """The ``<svg>`` element of a figure; ``name`` keeps its identifiers apart from others'.

    Its size is left to the page, and its colours become the page's variables (dark mode, print).
    """
    prefix = name.rsplit("/", 1)[-1].removesuffix(".svg")
    text = _STYLE.sub("", _HEAD.sub("", data.decode()))
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = re.sub(r'(xlink:href="|url\()#', rf"\1#{prefix}-", text)
    text = _COLOUR.sub(lambda match: f"var({VARIABLES[match[0]]}, {match[0]})", text)
    box = _VIEW_BOX.search(text)
    view = box[1] if box else "0 0 480 320"
    root = (
        f'<svg class="figure" role="img" aria-labelledby="{prefix}-name {prefix}-words" '
        f'viewBox="{view}" xmlns="http://www.w3.org/2000/svg" '
        'xmlns:xlink="http://www.w3.org/1999/xlink">'
    )
    return _ROOT.sub(root, text, count=1).strip()
