"""The blocks of a specification, one idea a file, in the order of QR Table 14."""
