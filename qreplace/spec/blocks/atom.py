"""What the atoms of every kind share."""

from __future__ import annotations

from qreplace.spec.values import Block, Text


class NamedAtomSpec(Block):
    """What every atom may say to people."""

    name: Text = ""
    recipe: Text = ""
