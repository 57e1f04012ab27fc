"""The canonical question and its arrays: frozen, exact, standard library only."""
