"""The HTTP service: the same engine and the same study ids as Python and the command line."""
