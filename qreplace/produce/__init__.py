"""Producers: untrusted. They may use floats and solvers; what they return is checked elsewhere."""
