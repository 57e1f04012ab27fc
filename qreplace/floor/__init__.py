"""The structural-floor bracket, from checked bounds and declared premises, kept apart."""
