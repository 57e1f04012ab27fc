"""Exact numbers and exact documents: standard library only."""
