"""The engine version: it names the answer, together with the bundle's digest."""

__version__ = "0.1.0"
