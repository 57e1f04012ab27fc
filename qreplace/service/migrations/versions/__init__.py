"""One migration a file, numbered in order."""
