"""The decision (theory T11): exact, standard library only, the same in engine and checker."""
