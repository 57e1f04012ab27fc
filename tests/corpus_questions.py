"""The questions of the corpus: small lifted problems whose floors can be worked out by hand."""

from __future__ import annotations

import dataclasses
import json
from fractions import Fraction
from typing import Any

import numpy as np
from dynamic_questions import affine_question, forcing, listed, polynomial_question
from lifted_questions import (
    L1,
    L2,
    LINF,
    block_l2,
    dictionary,
    make_question,
    vector,
    weighted_l1,
    weighted_linf,
    write_back,
)

from qreplace.exact.codec import encode
from qreplace.exact.document import canonical_bytes
from qreplace.premises import Evidence, Premise
from qreplace.question.arrays import RawArray
from qreplace.question.model import (
    CodesMetadata,
    CoveringMetadata,
    DeclaredSystem,
    DepthRange,
    DepthRule,
    ExactExecution,
    Grid,
    LinearTarget,
    ListedDictionary,
    MetadataCode,
    QuantizedLinearAtom,
    Question,
    Registers,
    Search,
    StateDependentRouting,
    StoredArray,
    WitnessDomain,
    Wrapping,
)

CORNERS = [[1, 0], [0, 1]]
"""Two atoms: every mixture is (a, 1 - a)."""
TARGET = ["3/4", "3/4"]

STORE: dict[str, bytes] = {}
"""Side arrays by digest."""


def registers(state: int, accumulator: int | None = None) -> Registers:
    """Wrapping registers of so many bits."""
    return Registers("registers", "wrap", state, None, None, accumulator)


def declared(value: str, evidence: Evidence = Evidence.INTERVAL_CERTIFIED) -> Premise:
    """A declared premise with a strong label and no proof."""
    number = Fraction(value)
    return Premise("declared", number, number, evidence, "an example", ())


def stored(values: Any, code: str) -> StoredArray:
    """A side array of numpy type ``code``."""
    entries = np.array(values, dtype=code)
    raw = RawArray(code, entries.shape, entries.tobytes())
    reference = raw.reference()
    STORE[reference.sha256] = raw.to_npy()
    return reference


def quantized_lift() -> Question:
    """Two 2x2 maps of 4-bit codes at three witnesses, target weights in float32."""
    scales = stored([0.5, 0.25], "<f4")
    atoms = tuple(
        QuantizedLinearAtom("quantized_linear", stored(codes, "|i1"), scales, zero)
        for codes, zero in (([[1, -2], [3, 4]], 0), ([[2, 0], [9, 7]], 8))
    )
    return dataclasses.replace(
        make_question([0], [[0]]),
        domain=WitnessDomain("witnesses", stored([[1, 0], [0.5, -1], [2, 3]], "<f2")),
        target=LinearTarget("linear_map", stored([[0.6, -0.4], [0.5, 0.3]], "<f4")),
        dictionary=ListedDictionary("listed", atoms, 4, learned=False, shared_schedule=True),
    )


def edge(norm: Any = LINF, **blocks: Any) -> Question:
    """The target (3/4, 3/4) and the edge between (1, 0) and (0, 1)."""
    return make_question(TARGET, CORNERS, norm, **blocks)


def leak(**blocks: Any) -> Question:
    """``z' = (-1/2 I + M) z + b_j`` with the atoms (1, 0) and (0, 1)."""
    coupling = [[0, "1/4"], [0, 0]]
    own = affine_question(CORNERS, TARGET, norm=LINF, rate="-1/2", state_matrix=coupling)
    return dataclasses.replace(own, **blocks)


COARSE = write_back("1/4")
"""Cells of 1/4: increments of at most 1/D are lost from depth 9 on."""

QUESTIONS: dict[str, Question] = {
    "linf-edge": edge(),
    "l1-edge": edge(L1),
    "weighted-linf-edge": edge(weighted_linf(2, 1)),
    "weighted-l1-edge": edge(weighted_l1(2, 1)),
    "l2-edge": edge(L2),
    # Two blocks (3, 4) and (0, 0) apart: the middle misses both by 5/2.
    "two-blocks": make_question([3, 4, 0, 0], [[3, 4, 3, 4], [0, 0, 0, 0]], block_l2(2)),
    "one-atom": make_question([1], [["1/3"]]),
    "met-exactly": make_question(["1/3", "2/3"], [*CORNERS, [2, 2]], L2),
    "initial-state": edge(initial=vector(["1/4", "0"])),
    "quantized-lift": quantized_lift(),
    "two-codes": edge(
        metadata=CodesMetadata(
            "codes",
            (
                MetadataCode(0, dictionary([[1, 1], [1, 1]])),
                MetadataCode(2, dictionary(CORNERS)),
            ),
        ),
        search=Search((DepthRange(1, 8, 1),), (0, 2)),
    ),
    "covering-code": edge(
        metadata=CoveringMetadata("covering", declared("1"), declared("1"), 2),
        execution=COARSE,
    ),
    "declared-system": edge(
        system=DeclaredSystem("declared", 2), floor=None, synthesis=None, execution=COARSE
    ),
    "frozen-grid": edge(execution=COARSE),
    "frozen-always": edge(execution=write_back("3", 1)),
    "frozen-no-metadata": edge(execution=COARSE, metadata=None),
    "frozen-routed": edge(
        execution=COARSE,
        routing=StateDependentRouting("state_dependent", (), None, None, None, None),
    ),
    "grid-exact": edge(execution=ExactExecution("exact")),
    "grid-unsaid": edge(execution=None),
    "grid-stochastic": edge(execution=write_back("1/4", rounding="stochastic")),
    "grid-directed": edge(execution=write_back("1/4", rounding="directed")),
    "grid-feedback": edge(execution=write_back("1/4", semantics="error_feedback")),
    "grid-increment": edge(execution=write_back("1/4", semantics="increment")),
    "grid-field-error": edge(execution=write_back("1/4", field_error=declared("0"))),
    "grid-field-unsaid": edge(execution=write_back("1/4", field_error=None)),
    "grid-initial-error": edge(execution=write_back("1/4", initial_error=declared("0"))),
    "grid-initial-unsaid": edge(execution=write_back("1/4", initial_error=None)),
    "frozen-initial-state": edge(execution=COARSE, initial=vector(["1/4", "0"])),
    "frozen-leak": leak(execution=COARSE, initial=vector(["1/2", "-1/4"])),
    "frozen-forced": leak(
        dictionary=listed(forcing(("0", [[1, 0], ["-1/2", 1]]), ("1/2", [[0, "1/2"]]))),
        execution=COARSE,
    ),
    "frozen-polynomial": polynomial_question(
        [["1 - z1*z2 + t^2", "z1^2"], ["z2", "-z1 + t"]],
        ["3/4", "3/4"],
        ["1/2", "-1/4"],
        LINF,
        execution=COARSE,
    ),
    "grid-off-start": edge(execution=COARSE, initial=vector(["1/8", "0"])),
    "grid-moving-start": edge(execution=write_back("3", 1), initial=vector(["3", "0"])),
    "grid-narrow-start": edge(
        execution=write_back(
            "1/4",
            grid=Grid(DepthRule(Fraction(1, 4), 0), "nearest", Fraction(1, 8)),
            overflow=Wrapping("wrap", None),
        ),
        initial=vector(["1/4", "0"]),
    ),
    "grid-shrinking": edge(execution=write_back("1000", 2)),
    "frozen-register": edge(
        execution=write_back("1/4", overflow=registers(2)), initial=vector(["1/4", "-1/2"])
    ),
    "grid-narrow-register": edge(
        execution=write_back("1/4", overflow=registers(2)), initial=vector(["1/2", "0"])
    ),
    "grid-narrow-accumulator": edge(execution=write_back("1/4", overflow=registers(2, 63))),
}


def _without(name: str, **fields: Any) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(canonical_bytes(encode(QUESTIONS[name])))
    return {**tree, **fields}


def _tree(value: Any) -> Any:
    return json.loads(canonical_bytes(encode(value)))


def _on_registers(semantics: str, limit: str | None = None, **widths: int) -> dict[str, Any]:
    """An execution block whose registers have these widths."""
    names = ("state_bits", "increment_bits", "carry_bits", "accumulator_bits")
    overflow = {"kind": "registers", "on_overflow": "wrap", **dict.fromkeys(names), **widths}
    grid = {"step": {"coefficient": "1/4", "power": 0}, "rounding": "nearest", "limit": limit}
    return _tree(COARSE) | {"semantics": semantics, "grid": grid, "overflow": overflow}


CONTRADICTORY: list[tuple[str, dict[str, Any], str, str]] = [
    ("horizon-zero", _without("linf-edge", horizon="0"), "/horizon", "the horizon is positive"),
    ("horizon-two", _without("linf-edge", horizon="2"), "/horizon", "has horizon 1"),
    (
        "l1-on-every-input",
        _without("l1-edge", domain={"kind": "full", "inputs": None, "covering": None}),
        "/domain",
        "is not a maximum over inputs",
    ),
    (
        "codes-and-budgets",
        _without(
            "two-codes",
            search={"depths": [{"first": 1, "last": 8, "step": 1}], "metadata_bits": [0, 1]},
        ),
        "/metadata",
        "one code a searched metadata budget",
    ),
    (
        "budgets-without-metadata",
        _without(
            "linf-edge",
            search={"depths": [{"first": 1, "last": 8, "step": 1}], "metadata_bits": [0, 1]},
        ),
        "/search/metadata_bits",
        "the only budget is 0 bits",
    ),
    (
        "engine-without-atoms",
        _without("linf-edge", system={"kind": "declared", "dimension": 2}, synthesis=None),
        "/floor/engine",
        "does not apply to a system of kind declared",
    ),
    (
        "target-by-name",
        _without("linf-edge", target={"kind": "declared", "name": "block"}),
        "/target",
        "needs its target's data",
    ),
    (
        "atoms-by-number",
        _without(
            "linf-edge",
            dictionary={
                "kind": "declared",
                "atom_count": 2,
                "bits": 4,
                "learned": False,
                "shared_schedule": True,
            },
        ),
        "/dictionary",
        "needs its atoms",
    ),
    (
        "schedule-of-each-input",
        _without(
            "linf-edge",
            dictionary=_tree(QUESTIONS["linf-edge"].dictionary) | {"shared_schedule": False},
        ),
        "/dictionary/shared_schedule",
        "schedule",
    ),
    (
        "declared-constants",
        _without(
            "linf-edge",
            synthesis={
                "kind": "constant",
                "constant": _tree(declared("1")),
                "field_bound": None,
                "state_lipschitz": None,
                "growth": None,
            },
        ),
        "/synthesis",
        "determines its own constants",
    ),
    (
        "tube",
        _without("linf-edge", tube={"kind": "declared", "margin": _tree(declared("1"))}),
        "/tube",
        "needs no tube",
    ),
    (
        "maps-and-vectors",
        _without("quantized-lift", dictionary=_tree(QUESTIONS["linf-edge"].dictionary)),
        "/dictionary/atoms/0",
        "both vectors or both maps",
    ),
    (
        "maps-without-inputs",
        _without("quantized-lift", domain={"kind": "witnesses", "inputs": None}),
        "/domain/inputs",
        "need the witness inputs",
    ),
    (
        "negative-range",
        _without(
            "frozen-grid",
            execution=_tree(COARSE)
            | {
                "grid": {
                    "step": {"coefficient": "1/4", "power": 0},
                    "rounding": "nearest",
                    "limit": "-1",
                }
            },
        ),
        "/execution/grid",
        "half range of a grid is positive",
    ),
    *(
        (
            f"registers-{name}",
            _without("frozen-grid", execution=execution),
            f"/execution{place}",
            words,
        )
        for name, execution, place, words in (
            ("without-a-width", _on_registers("write_back"), "/overflow", "width of at least one"),
            ("of-0-bits", _on_registers("write_back", state_bits=0), "/overflow", "1 to 63 bits"),
            ("of-64-bits", _on_registers("write_back", state_bits=64), "/overflow", "1 to 63 bits"),
            ("and-a-limit", _on_registers("write_back", "1", state_bits=8), "", "by their bits"),
            (
                "of-no-increment",
                _on_registers("write_back", increment_bits=8),
                "",
                "write-back rounds no increment",
            ),
            ("of-no-carry", _on_registers("increment", carry_bits=8), "", "only error feedback"),
        )
    ),
]
