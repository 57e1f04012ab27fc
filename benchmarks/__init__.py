"""Measurements: one question a file, side by side with a named peer in the same run, as ratios."""
