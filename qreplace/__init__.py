"""qreplace: can more low-bit steps replace the missing precision? Answered with a proof."""
