"""Ledgers from outside: a block description in, a table, premises and a figure out (theory T10).

``request`` is what a user writes, ``numbers`` and ``weights`` turn it into exact norms, ``build``
into the block of ``architecture``, and ``outcome`` says what came out.
"""
