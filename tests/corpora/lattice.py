"""``lattice``: registers small enough to follow code by code, and attacks on them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from dynamic_questions import affine_question, forcing
from lifted_questions import LINF, make_question, vector

from qreplace.claims import Claim
from qreplace.claims.lattice import LatticeClaim
from qreplace.premises import ABSENT, Evidence, Premise
from qreplace.question.code_lattice import CodeRange
from qreplace.question.model import (
    AffineDynamicsSystem,
    DeclaredSystem,
    DepthRule,
    ExactExecution,
    FullDomain,
    Grid,
    Overflow,
    QuantizedExecution,
    Question,
    Registers,
    Wrapping,
)
from qreplace.question.subject import Subject

CORNERS = [[1, 0], [0, 1]]
UNPROVED = Premise("declared", Fraction(0), Fraction(0), Evidence.ANALYTIC_CERTIFIED, "here", ())


def registers(state: int | None = None, increment: int | None = None, carry: int | None = None,
              accumulator: int | None = None) -> Registers:  # fmt: skip
    return Registers("registers", "wrap", state, increment, carry, accumulator)


def grid(step: str, power: int, rounding: Any = "nearest", limit: str | None = None) -> Grid:
    most = None if limit is None else Fraction(limit)
    return Grid(DepthRule(Fraction(step), power), rounding, most)


def execution(
    own: Grid, carry: Grid | None, overflow: Overflow, semantics: Any = "error_feedback",
    **fields: Any,
) -> QuantizedExecution:  # fmt: skip
    made = QuantizedExecution("quantized", semantics, own, carry, ABSENT, ABSENT, overflow)
    return dataclasses.replace(made, **fields)


FREE = execution(grid("4", 1), grid("1", 1), registers(3, 2, 3, 2))
"""Cells 4/D and 1/D: increments are codes 0 and 1 at every depth, the ratio is 4."""
FIXED = execution(grid("1/4", 0, limit="1/2"), grid("1/4", 1, limit="1/2"), Wrapping("wrap", None))
"""Cells 1/4 and 1/(4D): codes 0 and 4, a ratio of D; increments up to 2, carries up to 2 D."""
LEAK = execution(grid("1/4", 0), None, registers(state=4, accumulator=5), "write_back")


def free(**fields: Any) -> Question:
    return dataclasses.replace(make_question(["3/4", "3/4"], CORNERS, LINF, execution=FREE),
                               **fields)  # fmt: skip


def leak(own: QuantizedExecution = LEAK, **fields: Any) -> Question:
    """``z' = -z + b_j`` with the atoms 1 and 0; on quarters at depth 4 a code leaks a sixteenth."""
    question = affine_question([[1], [0]], [1], norm=LINF, rate=-1)
    return dataclasses.replace(question, execution=own, **fields)


QUESTIONS: dict[str, Question] = {
    "lattice-free": free(),
    "lattice-fixed": free(execution=FIXED),
    "lattice-leak": leak(),
    "lattice-fed-leak": leak(execution(grid("1/4", 0), grid("1/16", 0), registers(4, 3, 3, 5))),
    "lattice-exact": free(execution=ExactExecution("exact")),
    "lattice-declared": free(system=DeclaredSystem("declared", 2), floor=None, synthesis=None),
    "lattice-full": free(domain=FullDomain("full", None, None)),
    "lattice-field": free(execution=dataclasses.replace(FREE, field_error=UNPROVED)),
    "lattice-start": free(execution=dataclasses.replace(FREE, initial_error=UNPROVED)),
    "lattice-forced": leak(
        dictionary=dataclasses.replace(
            leak().dictionary, atoms=(forcing(("0", [[0], [1]])), forcing(("0", [[1]])))
        )
    ),
    "lattice-ratio": free(execution=dataclasses.replace(FREE, carry=grid("3", 1))),
    "lattice-coarse-carry": free(execution=dataclasses.replace(FREE, carry=grid("2", 1))),
    "lattice-off-start": free(initial=vector(["1/3", "0"])),
    "lattice-growing-limit": free(
        execution=execution(
            grid("4", 1, limit="1/8"), grid("1", 1, limit="1/8"), Wrapping("wrap", None)
        )
    ),
    "lattice-no-range": free(execution=dataclasses.replace(FREE, overflow=Wrapping("wrap", None))),
    "lattice-unstable": leak(
        execution(grid("1", 1), None, registers(accumulator=63), "write_back"),
        system=AffineDynamicsSystem("affine_dynamics", Fraction(1 << 60), None),
    ),
}


def subject(name: str) -> Subject:
    """The subject of a question of this corpus."""
    return Subject(QUESTIONS[name], {})


def claim(name: str, first: int, last: int, method: Any, *ranges: tuple[int, int]) -> LatticeClaim:
    """State, increment, carry and accumulator in this order."""
    return LatticeClaim(
        "qreplace/claim/lattice/v1", subject(name).execution_digest(0), 0, first, last, method,
        *(CodeRange(low, high) for low, high in ranges),
    )  # fmt: skip


SMALL = claim("lattice-free", 1, 13, "intervals", (0, 3), (-1, 1), (-2, 2), (0, 1))
"""Prefix sums are 0..13, so states are at most (13 + 2) / 4."""
ACCEPTED: list[tuple[str, str, Claim]] = [
    ("lattice", "lattice-free--all", SMALL),
    ("lattice", "lattice-free--enumerated",
     claim("lattice-free", 6, 6, "enumeration", (0, 2), (-1, 1), (-2, 2), (0, 1))),
    ("lattice", "lattice-fixed--run",
     claim("lattice-fixed", 4, 8, "intervals", (0, 4), (-1, 2), (-4, 4), (0, 4))),
    ("lattice", "lattice-leak--enumerated",
     claim("lattice-leak", 4, 4, "enumeration", (0, 4), (-1, 1), (0, 0), (-4, 4))),
    ("lattice", "lattice-fed-leak--intervals",
     claim("lattice-fed-leak", 4, 4, "intervals", (-1, 4), (-2, 2), (-2, 2), (-4, 5))),
]  # fmt: skip


def _rejected() -> Iterator[tuple[str, str, Claim, str, str]]:
    def case(question: str, name: str, made: Claim, pointer: str, words: str) -> Any:
        return "lattice", f"{question}--{name}", made, pointer, words

    def changed(**fields: Any) -> LatticeClaim:
        return dataclasses.replace(SMALL, **fields)

    other = changed(subject=subject("lattice-fixed").execution_digest(0))
    yield case("lattice-free", "other-grid", other, "/subject", "about another question")  # 1
    ideal = changed(subject=subject("lattice-free").problem_digest(0))
    yield case("lattice-free", "problem-only", ideal, "/subject", "about another question")
    yield case("lattice-free", "code-negative", changed(code=-1), "/code", "at this code")
    order = "the depths are not in order"
    yield case("lattice-free", "zero-depth", changed(first_depth=0), "/first_depth", order)
    yield case("lattice-free", "backwards", changed(first_depth=14), "/first_depth", order)
    for question, words in (
        ("lattice-exact", "registers are those of a quantized execution"),
        ("lattice-declared", "codes are computed for affine systems with given atoms"),
        ("lattice-full", "codes are those of the witnesses"),
        ("lattice-field", "codes need an exactly evaluated field"),
        ("lattice-start", "codes need an exact initial state"),
        ("lattice-forced", "codes need forcings that are constant in time"),
        ("lattice-ratio", "the ratio of the grids is no whole number at depth 13"),
        ("lattice-coarse-carry", "an increment is not on the carry's lattice at depth 13"),
        ("lattice-off-start", "the initial state is not on the grid at depth 1"),
        ("lattice-no-range", "a register that can overflow needs its range"),
    ):
        made = changed(subject=subject(question).execution_digest(0))
        yield case(question, "claimed", made, "", words)
    leaves = "a code leaves the claimed range of its register"  # 3
    for register in ("state", "increment", "carry", "accumulator"):
        own = SMALL.ranges[register]
        for name, narrow in (
            ("high", CodeRange(own.lower, own.upper - 1)),
            ("low", CodeRange(own.lower + 1, own.upper)),
        ):
            made = changed(**{register: narrow})
            yield case("lattice-free", f"{register}-{name}", made, f"/{register}", leaves)
    deeper = changed(last_depth=14)
    yield case("lattice-free", "one-too-deep", deeper, "/state", leaves)
    holds = "a claimed range is more than its register holds"  # 4
    wide = changed(last_depth=14, state=CodeRange(0, 4))
    yield case("lattice-free", "too-narrow-a-register", wide, "/state", holds)
    loose = changed(carry=CodeRange(-5, 2))
    yield case("lattice-free", "more-than-it-holds", loose, "/carry", holds)
    fixed = claim("lattice-fixed", 4, 8, "intervals", (0, 4), (-1, 3), (-4, 4), (0, 4))
    yield case("lattice-fixed", "beyond-the-limit", fixed, "/increment", holds)
    long = claim("lattice-fixed", 4, 2 * 10**6, "intervals", (0, 4), (-1, 2), (-4, 4), (0, 4))
    yield case("lattice-fixed", "too-many-depths", long, "/last_depth", "more depths than are")
    # Codes that do not change with depth, in a limit that does: its codes count smaller steps.
    growing = claim("lattice-growing-limit", 1, 32, "intervals", (0, 8), (-1, 1), (-2, 2), (0, 1))
    yield case("lattice-growing-limit", "shallow", growing, "/increment", holds)
    outgrown = claim("lattice-unstable", 128, 128, "intervals", *[(0, 1)] * 4)
    yield case("lattice-unstable", "outgrown", outgrown, "", "codes outgrow 4096 bits")
    work = claim("lattice-leak", 4 * 10**6, 4 * 10**6, "intervals", *[(0, 1)] * 4)
    yield case("lattice-leak", "too-much-work", work, "", "more than are followed")
    much = claim("lattice-leak", 4 * 10**6 + 1, 4 * 10**6 + 1, "intervals", *[(0, 1)] * 4)
    yield case("lattice-leak", "too-many-steps", much, "", "a propagation over")
    many = dataclasses.replace(SMALL, method="enumeration", first_depth=400, last_depth=400)
    yield case("lattice-free", "too-many-codes", many, "", "codes are reached by depth 400")


REJECTED: list[tuple[str, str, Claim, str, str]] = list(_rejected())
MALFORMED_FROM = ("lattice-free--all", "first_depth")
