"""What would decide an open question: one premise changed at a time, the whole decision anew.

For every declared number, the tolerance, the grid step of the registers and the searched depths,
the least change that this search finds to end in a verdict. Each answer has been decided again
exactly with the changed question; that it is the *least* change rests on verdicts being monotone in
a premise (design rule 4) and on the resolution of the search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import Any, Literal

from qreplace.check.bounds import Checked
from qreplace.decision.names import Verdict
from qreplace.decision.verdict import resolve
from qreplace.errors import QReplaceError
from qreplace.exact.rational import decimal_text
from qreplace.premises import Evidence, Premise
from qreplace.question.model import (
    DeclaredFloor,
    DepthRange,
    DepthRule,
    Emulation,
    LiftedAffineSystem,
    QuantizedExecution,
    Question,
)
from qreplace.question.subject import Subject

MAX_PREMISES = 64
"""Declared numbers that are changed, in the order of the question."""
HALVINGS = 7
"""Steps of bisection: a change is found to within 1/128 of the way."""
FAR = 1 << 30
"""What stands for a number as large as one likes."""
DEEPEST = 1 << 24
"""How far beyond the searched depths is looked."""
MAX_DATA = 1 << 16
"""Numbers in the atoms beyond which a question is not decided again."""

ResolvedTo = Literal["feasible", "impossible"]


@dataclass(frozen=True, slots=True)
class Change:
    """One change that decides the question, with the verdict that was found with it.

    ``name`` is the place in the question, such as ``routing.events.0.slope``; ``now`` and
    ``needed`` are the number as it is and as it would have to be: at most or at least that, as
    ``direction`` says. ``depth`` is where a feasible candidate then is.
    """

    name: str
    now: Fraction
    needed: Fraction
    direction: Literal["at_most", "at_least"]
    verdict: Verdict
    depth: int | None

    @property
    def resolved_to(self) -> ResolvedTo:
        """Yes or no."""
        return "feasible" if self.depth is not None else "impossible"


@dataclass(frozen=True, slots=True)
class _Knob:
    """A number of the question and how to put another in its place."""

    name: str
    now: Fraction
    end: Fraction
    """How far it may go."""
    put: Callable[[Fraction], Question]
    whole: bool = False


def what_if(subject: Subject, checked: Sequence[Checked]) -> tuple[Change, ...]:
    """The changes that decide an unresolved question, in the order of the question.

    Empty for a question that is decided, and where its data are too large to decide it many times.
    """
    question = subject.question
    if _numbers(subject) > MAX_DATA or resolve(subject, checked)[0].resolved:
        return ()
    found = []
    for knob in _knobs(question):
        change = _change(subject, checked, knob)
        if change is not None:
            found.append(change)
    return tuple(found)


def _numbers(subject: Subject) -> int:
    """About how many numbers deciding again reads."""
    question = subject.question
    if not isinstance(question.system, LiftedAffineSystem):
        return 0
    return question.dictionary.atom_count * subject.dimension(question.search.metadata_bits[0])


def _change(subject: Subject, checked: Sequence[Checked], knob: _Knob) -> Change | None:
    """The least step from ``now`` towards the end that decides, by bisection; confirmed."""

    def decided(value: Fraction) -> tuple[Verdict, int | None] | None:
        try:
            found = resolve(Subject(knob.put(value), subject.store), checked)
        except QReplaceError:  # no such question, or ends that exclude each other
            return None
        return found if found[0].resolved else None

    best, answer = knob.end, decided(knob.end)
    if answer is None:
        return None
    held = knob.now
    for _ in range(HALVINGS if not knob.whole else 2 * HALVINGS):
        middle = _between(held, best, whole=knob.whole)
        if middle in (held, best):
            break
        found = decided(middle)
        if found is None:
            held = middle
        else:
            best, answer = middle, found
    verdict, depth = answer
    direction: Literal["at_most", "at_least"] = "at_most" if best < knob.now else "at_least"
    return Change(knob.name, knob.now, best, direction, verdict, depth)


def _between(held: Fraction, best: Fraction, *, whole: bool) -> Fraction:
    """A short number between the two: the mean on the scale on which they are apart."""
    low, high = min(held, best), max(held, best)
    if low > 0 and high > 4 * low:
        ratio = high / low
        # Powers of two are a scale of ratios without roots.
        middle = low * (1 << max(1, (ratio.numerator // ratio.denominator).bit_length() // 2))
    else:
        middle = (low + high) / 2
    if whole:
        return Fraction(int(middle))
    return _short(middle, towards_up=best > held)


def _short(value: Fraction, *, towards_up: bool) -> Fraction:
    """A decimal of three digits near a number, on the side that changes more."""
    if value == 0:
        return value
    return Fraction(decimal_text(value, up=towards_up, digits=3).replace(",", ""))


# --- the numbers of a question --------------------------------------------------------------------


def _knobs(question: Question) -> Iterator[_Knob]:
    objective, execution = question.objective, question.execution
    if isinstance(objective, Emulation):
        own = objective.tolerance

        def allow(value: Fraction) -> Question:
            return replace(question, objective=replace(objective, tolerance=value))

        yield _Knob("objective.tolerance", own, own * FAR, allow)
        yield _Knob("objective.tolerance", own, own / FAR, allow)
    for path, premise in islice(_premises(question, ()), MAX_PREMISES):
        if premise.evidence is Evidence.UNAVAILABLE or path[-1] == "time":
            continue
        name, put = ".".join(map(str, path)), _putter(question, path, premise)
        # The unfavourable end is the upper one of what should be small, else the lower one.
        if premise.upper > 0:
            yield _Knob(name, premise.upper, _least(question, path), put)
        yield _Knob(name, premise.lower, _most(question, path, premise), put)
    if isinstance(execution, QuantizedExecution):
        grid = execution.grid

        def refine(value: Fraction) -> Question:
            finer = replace(grid, step=DepthRule(value, grid.step.power))
            return replace(question, execution=replace(execution, grid=finer))

        step = grid.step.coefficient
        yield _Knob("execution.grid.step", step, step / FAR, refine)
    last = max(depths.last for depths in question.search.depths)
    if last < DEEPEST:

        def deepen(value: Fraction) -> Question:
            depths = DepthRange(int(value), int(value), 1)
            return replace(question, search=replace(question.search, depths=(depths,)))

        yield _Knob("search.depths", Fraction(last), Fraction(DEEPEST), deepen, whole=True)


def _least(question: Question, path: tuple[str | int, ...]) -> Fraction:
    """Nothing at all; an upper end of the floor falls to the lower one."""
    if path == ("floor", "upper") and isinstance(question.floor, DeclaredFloor):
        lower = question.floor.lower
        return Fraction(0) if lower is None else lower.upper
    return Fraction(0)


def _most(question: Question, path: tuple[str | int, ...], premise: Premise) -> Fraction:
    """As large as one likes; a lower end of the floor rises to the upper one."""
    if path == ("floor", "lower") and isinstance(question.floor, DeclaredFloor):
        upper = question.floor.upper
        if upper is not None:
            return upper.lower
    return max(premise.lower, Fraction(1)) * FAR


def _putter(
    question: Question, path: tuple[str | int, ...], premise: Premise
) -> Callable[[Fraction], Question]:
    def put(value: Fraction) -> Question:
        made: Question = _replaced(question, path, replace(premise, lower=value, upper=value))
        return made

    return put


def _premises(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[Any, ...], Premise]]:
    """Every declared number of the question with its place."""
    if isinstance(value, Premise):
        yield path, value
    elif isinstance(value, tuple):
        for index, part in enumerate(value):
            yield from _premises(part, (*path, index))
    elif is_dataclass(value):
        for field in fields(value):
            yield from _premises(getattr(value, field.name), (*path, field.name))


def _replaced(value: Any, path: tuple[str | int, ...], new: Any) -> Any:
    if not path:
        return new
    key, rest = path[0], path[1:]
    if isinstance(key, int):
        return (*value[:key], _replaced(value[key], rest, new), *value[key + 1 :])
    return replace(value, **{key: _replaced(getattr(value, key), rest, new)})
