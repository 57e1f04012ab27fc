"""Exact checkers. They see question, premises and claim, and use the standard library only."""
