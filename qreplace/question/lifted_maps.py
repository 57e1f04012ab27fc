"""Piecewise-affine atoms that do not read the state through a bend: affine dynamics on witnesses.

Where ``V phi(W y + S z + b)`` reads the state through nothing that bends, each witness input moves
by ``z' = A z - leak z + b_j`` with a constant ``b_j = V phi(W y + b) + c`` of its own (theory T7.2,
T7.7). All atoms must share ``A - leak I``, so that mixtures do too. Coordinate ``i d + k`` is
output k at witness i.

A floor on the witnesses is a lower bound of that on every input: the error is a largest one. It is
the same for one-dimensional inputs whose witnesses hold every kink, for the difference of two
endpoints is then affine between neighbouring witnesses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from operator import mul

from qreplace.errors import InputError
from qreplace.question.atom_sizes import field_value
from qreplace.question.dynamics import AffineProblem, ForcingOnPiece
from qreplace.question.model import BlockL2Norm, L1Norm, L2Norm, LinfNorm, Norm, WeightedLinfNorm
from qreplace.question.piecewise_problem import Field, PwaProblem

MAX_COUPLED = 1024
"""Largest lifted state whose coordinates are coupled by a matrix."""

Rows = list[list[Fraction]]


def lifted_norm(norm: Norm, problem: PwaProblem) -> Norm:
    """The largest over the witnesses of the norm of one output, as a norm of all of them.

    Raises ``InputError`` for the l1 norms, which have no such form.
    """
    d, count = problem.dimension, len(problem.witnesses or ())
    if isinstance(norm, (L2Norm, L1Norm)) and d == 1:
        return LinfNorm("linf")
    if isinstance(norm, (LinfNorm, BlockL2Norm)):
        return norm
    if isinstance(norm, L2Norm):
        return BlockL2Norm("block_l2", d)
    if isinstance(norm, WeightedLinfNorm):
        return WeightedLinfNorm("weighted_linf", norm.weights * count)
    raise InputError(
        f"the largest {norm.kind} norm over the witnesses is no norm that lifted floors know; "
        "use linf, weighted linf or l2"
    )


def lifted_dynamics(problem: PwaProblem, *, full: bool) -> AffineProblem:
    """The affine dynamics at the witnesses; with ``full`` these must lie in the region.

    Raises ``InputError`` where an atom reads the state through a bend, where atoms do not share
    their linear part, and without witnesses.
    """
    witnesses = problem.witnesses
    if not witnesses:
        raise InputError("lifted floors need witness inputs; name them in the domain")
    region = problem.region
    if full and (region is None or not all(region.contains(q) for q in witnesses)):
        raise InputError("a witness lies outside the region of the inputs")
    linear = _shared_linear(problem.fields)
    zero = [Fraction(0)] * problem.dimension
    forcings = [
        [x for q in witnesses for x in field_value(field, q, zero)] for field in problem.fields
    ]
    target = [x for q in witnesses for x in problem.target.value(q)]
    initial = [Fraction(n, problem.initial_unit) for n in problem.initial] * len(witnesses)
    common = math.lcm(*(x.denominator for row in (*forcings, target, initial) for x in row))
    rate, matrix, unit = _lifted_matrix(linear, len(witnesses))

    def whole(values: Sequence[Fraction]) -> tuple[int, ...]:
        return tuple(x.numerator * (common // x.denominator) for x in values)

    return AffineProblem(
        rate=rate,
        matrix=matrix,
        matrix_denominator=unit,
        initial=whole(initial),
        target=whole(target),
        atoms=tuple(
            (ForcingOnPiece(Fraction(0), problem.horizon, (whole(row),)),) for row in forcings
        ),
        denominator=common,
        horizon=problem.horizon,
    )


def _shared_linear(fields: Sequence[Field]) -> Rows:
    """``A - leak I``, and ``V S`` where nothing bends: the same for every atom."""
    found: Rows | None = None
    for index, field in enumerate(fields):
        linear = [[Fraction(x, field.outer) for x in row] for row in field.drift]
        through = [
            [sum(map(mul, row, column)) for column in zip(*field.state_weights, strict=True)]
            for row in field.output
        ]
        seen = any(
            v and any(row)
            for line in field.output
            for v, row in zip(line, field.state_weights, strict=True)
        )
        if seen and field.atom.activation != "identity":
            raise InputError(
                f"atom {index} reads the state through its activation: no affine dynamics; use "
                "net_floor"
            )
        unit = field.outer * field.inner
        linear = [
            [a + Fraction(b, unit) for a, b in zip(one, other, strict=True)]
            for one, other in zip(linear, through, strict=True)
        ]
        if found is not None and linear != found:
            raise InputError(
                f"atoms 0 and {index} have different state matrices or leaks, so their mixtures "
                "are no affine dynamics; use net_floor"
            )
        found = linear
    return found or []


def _lifted_matrix(
    linear: Rows, count: int
) -> tuple[Fraction, tuple[tuple[int, ...], ...] | None, int]:
    """Rate, block matrix over its denominator: ``rate I`` alone where that is all."""
    d = len(linear)
    rate = linear[0][0]
    rest = [[x - rate * (i == j) for j, x in enumerate(row)] for i, row in enumerate(linear)]
    if not any(x for row in rest for x in row):
        return rate, None, 1
    if d * count > MAX_COUPLED:
        raise InputError(
            f"{count} witnesses of {d} coupled coordinates are more than {MAX_COUPLED} in all"
        )
    unit = math.lcm(*(x.denominator for row in rest for x in row))
    rows = []
    for i in range(count):
        for row in rest:
            line = [0] * (d * count)
            line[i * d : (i + 1) * d] = [int(x * unit) for x in row]
            rows.append(tuple(line))
    return rate, tuple(rows), unit
