"""Exact checkers. They see question, premises and claim, and use the standard library only.

``qreplace.check(bundle)`` re-checks a whole bundle: the package itself is callable, so that the
import ``qreplace.check`` and the function people look for are one name.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qreplace.check.__main__ import Report


class _CallablePackage(ModuleType):
    """The package with a call: re-check a bundle given as bytes or as a path."""

    def __call__(self, bundle: bytes | str | Path) -> Report:
        from qreplace.check.__main__ import check_bundle, read_file

        return check_bundle(bundle if isinstance(bundle, bytes) else read_file(Path(bundle)))


sys.modules[__name__].__class__ = _CallablePackage
