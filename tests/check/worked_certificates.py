"""Certificates written out by hand, with the identities that a reader can follow with a pencil."""

from __future__ import annotations

from fractions import Fraction

from corpora import compositional, hjb_sos, support

from qreplace.claims import Claim
from qreplace.claims.functional import SparseVector
from qreplace.claims.relaxed_control import (
    ControlPiece,
    PureSchedule,
    RelaxedControl,
    RelaxedControlClaim,
)
from qreplace.question.model import Question
from qreplace.question.subject import Subject

TEXTS = {
    "hjb-worked": "x' = u with u in {-1, 1}, from 0 for one unit of time, target 2. The endpoint 1 "
    "is the nearest, so the floor is exactly 1, and so is the error at every depth.",
    "support-worked": "A double integrator z1' = z2, z2' = u with u in {-1, 1}, from rest for one "
    "unit of time, target (1, 1) in the maximum norm. Full thrust reaches (1/2, 1): the floor is "
    "exactly 1/2.",
    "compositional-worked": "Two integrators z1' = u1 + z2/20 and z2' = u2 + z1/20, every sign of "
    "(u1, u2), from 0 for one unit of time, target (3, 3) in the Euclidean norm. Each block is "
    "treated alone; what the coupling can cost is paid from a budget.",
}

PROOFS = {
    "hjb-worked": """On `K = {t (1 - t) >= 0, 1 - x^2 >= 0}`, which no trajectory leaves (its speed
is at most 1), take `v = (1 + t - x)^2`. Along u its slope is `2 (1 + t - x)(1 - u)`: 0 for u = 1,
and for u = -1

    4 (1 + t - x) = 4 t^2 + 2 (1 - x)^2 + 4 * t (1 - t) + 2 * (1 - x^2).

At t = 1, v is the squared error `(2 - x)^2` itself. So no trajectory ends with one below
`v(0, 0) = 1`. In steps of 1/4, `v(t + 1/4, x - 1/4) - v(t, x) = (1 + t - x) + 1/4`, and the same
squares, a quarter of them, show it. The constant control u = 1, or four steps of it, attains 1.""",
    "support-worked": """With `lambda = (1, 0)`, of dual norm 1, take
`w = z1 + (1 - t) z2 + (1 - t)^2 / 2`: how far z1 can still get. Along u its slope is
`(1 - t)(u - 1)`: 0 for u = 1, and for u = -1

    2 (1 - t) = 2 (1 - t)^2 + 2 * t (1 - t)

is lost. At t = 1, w is z1. So z1 never ends above `w(0, 0) = 1/2`, and misses its target 1 by 1/2.
The constant control u = 1 ends at (1/2, 1).""",
    "compositional-worked": """No trajectory leaves `|z_i| <= 5/4` (speeds are at most 1 + 1/16).
For each block take `v_i = (2 + t - z_i)^2`. Along its own field u_i its slope is
`2 (2 + t - z_i)(1 - u_i)`: 0 for u_i = 1, and for u_i = -1

    4 (2 + t - z_i) = 4 t^2 + 3 + 8/5 (5/4 - z_i)^2 + 4 * t (1 - t) + 8/5 * (25/16 - z_i^2).

At t = 1, v_i is `(3 - z_i)^2`. The neighbour adds `-2 (2 + t - z_i) z_k / 20` to the slope, which
is at least `-2 (17/4)(5/4)/20 = -17/32`. So the squared error is at least
`v_1(0, 0) + v_2(0, 0) - 2 * 17/32 = 4 + 4 - 17/16 = 111/16`, more than `(79/30)^2`. The constant
control u = (1, 1) shows how much of the floor this is.""",
}


def cases() -> dict[str, tuple[Question, list[Claim]]]:
    """Question and claims of every case."""
    line = Subject(hjb_sos.QUESTIONS["hjb-worked"], {})
    thrust = Subject(support.QUESTIONS["support-double"], {})
    pair = Subject(compositional.QUESTIONS["comp-pair"], {})
    return {
        "hjb-worked": (
            line.question,
            [hjb_sos.WORKED, held(line, 1), hjb_sos.STEPS, repeated(line, 4, 1)],
        ),
        "support-worked": (thrust.question, [support.DOUBLE, held(thrust, Fraction(1, 2))]),
        "compositional-worked": (
            pair.question,
            [compositional.SPLIT, held(pair, Fraction(27926, 10000), steps=8, order=12)],
        ),
    }


def held(
    subject: Subject, upper: Fraction | int, *, steps: int = 1, order: int = 2
) -> RelaxedControlClaim:
    """The first atom all the time."""
    weights = SparseVector(Fraction(1), (0,), (Fraction(1),))
    piece = ControlPiece(subject.question.horizon, weights)
    return _claim(subject, RelaxedControl("relaxed", (piece,), (steps,), order), upper)


def repeated(subject: Subject, depth: int, upper: Fraction | int) -> RelaxedControlClaim:
    """The first atom in every step."""
    return _claim(subject, PureSchedule("schedule", ((0, depth),)), upper)


def _claim(
    subject: Subject, control: RelaxedControl | PureSchedule, upper: Fraction | int
) -> RelaxedControlClaim:
    return RelaxedControlClaim(
        format="qreplace/claim/relaxed_control/v1",
        subject=subject.problem_digest(0),
        code=0,
        control=control,
        upper=Fraction(upper),
    )
