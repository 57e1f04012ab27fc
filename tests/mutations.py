"""Single random mutations of a claim document, as a careless or a clever forger would make them.

A mutation changes one place: a number a little or grossly, an integer, an exponent, a kind, a list
by one item, a key. The generator is seeded, so the same document gives the same mutants everywhere.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from qreplace.exact.rational import format_rational, parse_rational

Place = tuple[str | int, ...]

SLIGHT = Fraction(1, 10**40)
KINDS = (
    *("squares", "gram", "time", "box", "invariant", "implied", "relaxed", "schedule"),
    *("comparator", "cells", "boxes", "witnesses", "split", "bounded", "single"),
)


def mutants(document: Any, count: int, seed: int) -> Iterator[tuple[str, Any]]:
    """``count`` changed copies of a JSON document, each with a line that says what was changed.

    Places are drawn evenly from the kinds of places first, so that a few large lists of numbers do
    not hide the rest.
    """
    generator = random.Random(seed)
    groups: dict[str, list[Place]] = {}
    for place, value in _places(document, ()):
        groups.setdefault(_group(place, value), []).append(place)
    made = 0
    while made < count:
        place = generator.choice(groups[generator.choice(sorted(groups))])
        changed = copy.deepcopy(document)
        note = _mutate(changed, place, generator)
        if note and changed != document:
            made += 1
            yield f"{'/'.join(map(str, place))}: {note}", changed


def _places(value: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    if place:
        yield place, value
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        yield from _places(item, (*place, key))


def _group(place: Place, value: Any) -> str:
    """Places of one name and type are alike."""
    names = [step for step in place if isinstance(step, str)]
    return f"{type(value).__name__}/{'/'.join(names[-2:])}"


def _mutate(document: Any, place: Place, generator: random.Random) -> str:
    """Change the document in place; returns what was done, empty when nothing fits."""
    parent = document
    for step in place[:-1]:
        parent = parent[step]
    key, value = place[-1], parent[place[-1]]
    if generator.random() < 0.05:
        if isinstance(parent, list):
            return _mutate_list(parent, generator)
        del parent[key]
        return "key dropped"
    if isinstance(value, bool):
        parent[key] = not value
        return "turned"
    if isinstance(value, int):
        parent[key] = generator.choice([value + 1, value - 1, -value, 0, 2 * value, value + 10**6])
        return f"now {parent[key]}"
    if value is None:
        parent[key] = generator.choice([1, 2, 3, 0, "0"])
        return f"now {parent[key]!r}"
    if isinstance(value, list):
        return _mutate_list(value, generator)
    if isinstance(value, dict):
        parent[key] = generator.choice([None, {}, [], "0"])
        return f"now {parent[key]!r}"
    parent[key] = _mutate_text(document, value, generator)
    return f"now {parent[key][:40]!r}"


def _mutate_list(items: list[Any], generator: random.Random) -> str:
    if not items:
        items.append(generator.choice(["0", "1", 0, []]))
        return "item added"
    index = generator.randrange(len(items))
    other = generator.randrange(len(items))
    how = generator.choice(["dropped", "doubled", "swapped", "copied", "cleared"])
    if how == "dropped":
        del items[index]
    elif how == "doubled":
        items.insert(index, copy.deepcopy(items[index]))
    elif how == "swapped":
        items[index], items[other] = items[other], items[index]
    elif how == "copied":
        items[index] = copy.deepcopy(items[other])
    else:
        items.clear()
    return f"item {index} {how}"


NUMBER_CHANGES: list[Callable[[Fraction], Fraction]] = [
    lambda x: x + SLIGHT,
    lambda x: x - SLIGHT,
    lambda x: x * (1 + SLIGHT),
    lambda x: x + Fraction(1, 1000),
    lambda x: x - Fraction(1, 1000),
    lambda x: x + 1,
    lambda x: x - 1,
    lambda x: -x,
    lambda x: 2 * x,
    lambda x: x / 2,
    lambda x: 3 * x + 1,
    lambda x: Fraction(0),
    lambda x: 1 / x if x else Fraction(1),
    lambda x: x * 10**30,
]


def _mutate_text(document: Any, text: str, generator: random.Random) -> str:
    number = _number(text)
    if number is not None:
        roll = generator.random()
        if roll < 0.1:
            others = [v for _, v in _places(document, ()) if isinstance(v, str) and _is_number(v)]
            return generator.choice(others)
        if roll < 0.15:
            return generator.choice([f"{text}/0", "nan", "", "1e5", f"+{text}", "2/4"])
        return format_rational(generator.choice(NUMBER_CHANGES)(number))
    if text in KINDS:
        return generator.choice(KINDS)
    index = generator.randrange(len(text) + 1)
    return text[:index] + generator.choice("0123456789abcdef/") + text[index + 1 :]


def _is_number(text: str) -> bool:
    return _number(text) is not None


def _number(text: str) -> Fraction | None:
    """The rational that a document's text denotes; digests are texts, and none of these."""
    if not text or len(text) >= 64 or not text.lstrip("-")[:1].isdigit():
        return None
    return parse_rational(text) if text.lstrip("-").replace("/", "", 1).isdigit() else None
