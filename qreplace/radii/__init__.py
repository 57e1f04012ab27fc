"""How far finite depth, metadata and arithmetic move the error from the floor (theory T3-T5)."""
