"""The lifted problem is the one that the definition gives, for every kind of atom."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import (
    L2,
    LINF,
    block_l2,
    make_question,
    make_subject,
    vector,
    weighted_l1,
    weighted_linf,
)
from lifted_strategies import POSITIVE, SMALL, size

from qreplace.check.plain import plain_problem
from qreplace.errors import InputError
from qreplace.question.arrays import RawArray, inline_array
from qreplace.question.model import (
    CodesMetadata,
    DeclaredSystem,
    DepthRange,
    InlineArray,
    LinearAtom,
    LinearTarget,
    ListedDictionary,
    MetadataCode,
    QuantizedLinearAtom,
    Question,
    Search,
    VectorAtom,
    WitnessDomain,
)
from qreplace.question.norms import coordinate_radius, norm_bounds
from qreplace.question.subject import PACK_FROM, LiftedProblem, Subject


def matrix(rows: int, columns: int, numbers: st.SearchStrategy[Fraction]) -> Any:
    entries = st.lists(numbers, min_size=rows * columns, max_size=rows * columns)
    return entries.map(lambda values: inline_array((rows, columns), values))


@st.composite
def linear_questions(draw: st.DrawFn) -> Question:
    """Linear and quantised maps on a few witnesses, with and without an initial state."""
    outputs, inputs, witnesses = (draw(st.integers(1, 3)) for _ in range(3))
    codes = st.integers(-8, 7).map(Fraction)
    atoms: list[Any] = []
    for _ in range(draw(st.integers(1, 3))):
        if draw(st.booleans()):
            atoms.append(LinearAtom("linear_map", draw(matrix(outputs, inputs, SMALL))))
            continue
        count = draw(st.sampled_from([1, outputs]))
        scales = draw(st.lists(POSITIVE, min_size=count, max_size=count))
        atoms.append(
            QuantizedLinearAtom(
                "quantized_linear",
                draw(matrix(outputs, inputs, codes)),
                vector(scales),
                draw(st.integers(-2, 2)),
            )
        )
    size = outputs * witnesses
    initial = draw(st.none() | st.lists(SMALL, min_size=size, max_size=size).map(vector))
    return dataclasses.replace(
        make_question([0], [[0]]),
        domain=WitnessDomain("witnesses", draw(matrix(witnesses, inputs, SMALL))),
        target=LinearTarget("linear_map", draw(matrix(outputs, inputs, SMALL))),
        dictionary=ListedDictionary("listed", tuple(atoms), 4, learned=False, shared_schedule=True),
        initial=initial,
    )


def as_fractions(problem: LiftedProblem) -> tuple[list[list[Fraction]], list[Fraction]]:
    scale = problem.denominator
    atoms = [[Fraction(n, scale) for n in atom] for atom in problem.atoms]
    return atoms, [Fraction(n, scale) for n in problem.target]


@settings(max_examples=150)
@given(linear_questions())
def test_linear_maps_are_multiplied_out_exactly(question: Question) -> None:
    subject = Subject(question, {})
    problem = subject.lifted(0)
    plain = plain_problem(subject, 0)
    assert as_fractions(problem) == (plain.atoms, plain.target)
    assert problem.denominator > 0
    target = question.target
    assert isinstance(target, LinearTarget)
    assert problem.outputs == target.weights.shape[0]


def test_a_lift_by_hand() -> None:
    """Two witnesses, two outputs: coordinates run witness by witness."""
    question = dataclasses.replace(
        make_question([0], [[0]]),
        domain=WitnessDomain("witnesses", inline_array((2, 1), [Fraction(1), Fraction(10)])),
        target=LinearTarget("linear_map", inline_array((2, 1), [Fraction(1), Fraction(2)])),
        dictionary=ListedDictionary(
            "listed",
            (
                QuantizedLinearAtom(
                    "quantized_linear",
                    inline_array((2, 1), [Fraction(5), Fraction(7)]),
                    vector(["1/2", "1/4"]),
                    1,
                ),
            ),
            4,
            learned=False,
            shared_schedule=True,
        ),
    )
    atoms, target = as_fractions(Subject(question, {}).lifted(0))
    assert target == [1, 2, 10, 20]
    assert atoms == [[2, Fraction(3, 2), 20, 15]]


@given(st.lists(SMALL, min_size=3, max_size=3), st.lists(SMALL, min_size=3, max_size=3))
def test_residual_and_separation(y: list[Fraction], b: list[Fraction]) -> None:
    problem = make_subject(y, [b, [1, 2, 3]]).lifted(0)
    weights, total = [2, 5], 7
    expected = [(2 * x + 5 * k) / 7 - t for x, k, t in zip(b, (1, 2, 3), y, strict=True)]
    scale = total * problem.denominator
    assert [Fraction(n, scale) for n in problem.residual(weights, total)] == expected
    assert problem.residual(weights, total, [2]) == problem.residual(weights, total)[2:]
    functional = [3, -4]
    value = Fraction(problem.separation([0, 2], functional), problem.denominator)
    assert value == 3 * y[0] - 4 * y[2] - max(3 * b[0] - 4 * b[2], 3 - 12)
    assert problem.separation([], []) == 0


def test_digests_name_the_floor_problem_only() -> None:
    base = make_question([1, 2], [[1, 0], [0, 1]])
    digest = Subject(base, {}).problem_digest(0)
    same = [
        dataclasses.replace(base, execution=None),
        dataclasses.replace(base, search=Search((DepthRange(9, 9, 1),), (0,))),
        dataclasses.replace(base, scope="path"),
    ]
    other = [
        make_question([1, 3], [[1, 0], [0, 1]]),
        make_question([1, 2], [[1, 0], [0, 2]]),
        make_question([1, 2], [[1, 0]]),
        make_question([1, 2], [[0, 1], [1, 0]]),
        make_question([1, 2], [[1, 0], [0, 1]], L2),
        dataclasses.replace(base, initial=vector([0, 0])),
        dataclasses.replace(base, system=DeclaredSystem("declared", 2), floor=None),
    ]
    assert {Subject(question, {}).problem_digest(0) for question in same} == {digest}
    digests = {Subject(question, {}).problem_digest(0) for question in other}
    assert len(digests) == len(other) and digest not in digests
    executed = [Subject(q, {}).execution_digest(0) for q in (base, same[0])]
    assert len({digest, *executed}) == 3


def test_each_code_runs_its_own_dictionary() -> None:
    def listed(*atoms: list[int]) -> ListedDictionary:
        vectors = tuple(VectorAtom("vector", vector(atom)) for atom in atoms)
        return ListedDictionary("listed", vectors, 4, learned=False, shared_schedule=True)

    codes = (MetadataCode(0, listed([1, 1])), MetadataCode(3, listed([2, 2], [4, 4])))
    subject = make_subject(
        [0, 0],
        [[9, 9]],
        metadata=CodesMetadata("codes", codes),
        search=Search((DepthRange(1, 2, 1),), (0, 3)),
    )
    assert subject.lifted(0).atoms == ((1, 1),)
    assert subject.lifted(3).atoms == ((2, 2), (4, 4))
    assert subject.problem_digest(0) != subject.problem_digest(3)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        pytest.param(make_question([], [[]]), "no coordinates", id="no coordinates"),
        pytest.param(make_question([1, 2], [[1]]), "atom 0 has 1 coordinates", id="atom"),
        pytest.param(
            make_question([1], [[1]], initial=vector([1, 2])), "initial state has 2", id="initial"
        ),
        pytest.param(
            make_question([1], [[1]], weighted_linf(1, 2)), "2 weights, the state 1", id="weights"
        ),
        pytest.param(
            make_question([1], [[1]], weighted_l1(1, 2)), "2 weights, the state 1", id="weights l1"
        ),
        pytest.param(make_question([1, 2, 3], [[1] * 3], block_l2(2)), "do not divide", id="block"),
        pytest.param(
            make_question([1], [[1]], system=DeclaredSystem("declared", 1), floor=None),
            "declared only",
            id="a declared system whose question lists vectors",
        ),
    ],
)
def test_shapes_that_do_not_fit(question: Question, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Subject(question, {}).lifted(0)


def linear(weights: InlineArray, inputs: InlineArray, *atoms: Any, norm: Any = LINF) -> Subject:
    question = dataclasses.replace(
        make_question([0], [[0]], norm),
        domain=WitnessDomain("witnesses", inputs),
        target=LinearTarget("linear_map", weights),
        dictionary=ListedDictionary("listed", atoms, 4, learned=False, shared_schedule=True),
    )
    return Subject(question, {})


def ones(*shape: int) -> InlineArray:
    size = 1
    for extent in shape:
        size *= extent
    return inline_array(shape, [Fraction(1)] * size)


def quantized(codes: InlineArray, scales: InlineArray) -> QuantizedLinearAtom:
    return QuantizedLinearAtom("quantized_linear", codes, scales, 0)


GOOD = LinearAtom("linear_map", ones(2, 3))


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        pytest.param(linear(ones(6), ones(1, 3), GOOD), "are matrices", id="target"),
        pytest.param(linear(ones(2, 3), ones(3), GOOD), "are matrices", id="witnesses"),
        pytest.param(linear(ones(2, 3), ones(1, 2), GOOD), "takes 3 inputs", id="inputs"),
        pytest.param(
            linear(ones(2, 3), ones(1, 3), LinearAtom("linear_map", ones(3, 3))),
            "needed 2 output rows",
            id="outputs",
        ),
        pytest.param(
            linear(ones(2, 3), ones(1, 3), LinearAtom("linear_map", ones(6))),
            "needed 2 output rows",
            id="flat atom",
        ),
        pytest.param(
            linear(ones(2, 3), ones(1, 3), quantized(ones(6), ones(1))),
            "needed 2 output rows",
            id="flat codes",
        ),
        pytest.param(
            linear(ones(2, 3), ones(1, 3), quantized(ones(2, 3), ones(3))),
            "are 1 or 2 numbers",
            id="scales",
        ),
        pytest.param(
            linear(
                ones(2, 3),
                ones(1, 3),
                quantized(inline_array((2, 3), [Fraction(1, 2)] * 6), ones(1)),
            ),
            "are not integers",
            id="codes",
        ),
        pytest.param(linear(ones(2, 3), ones(0, 3), GOOD), "no coordinates", id="no witness"),
        pytest.param(linear(ones(0, 3), ones(1, 3), GOOD), "no coordinates", id="no output"),
        pytest.param(linear(ones(2, 0), ones(1, 0), GOOD), "no coordinates", id="no input"),
        pytest.param(
            linear(ones(2, 3), ones(3, 3), GOOD, norm=block_l2(3)), "cross from one", id="blocks"
        ),
    ],
)
def test_maps_that_do_not_fit(subject: Subject, words: str) -> None:
    with pytest.raises(InputError, match=words):
        subject.lifted(0)


def test_a_missing_side_array() -> None:
    raw = RawArray("<f4", (1,), b"\0\0\x80?")
    question = make_question([0], [[0]])
    question = dataclasses.replace(
        question, target=dataclasses.replace(question.target, values=raw.reference())
    )
    with pytest.raises(InputError, match="is missing"):
        Subject(question, {}).lifted(0)
    assert Subject(question, {raw.reference().sha256: raw.to_npy()}).lifted(0).target == (1,)


# --- norms ---------------------------------------------------------------------------------------


@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=6, max_size=6),
    st.integers(1, 10**9),
    st.lists(POSITIVE, min_size=6, max_size=6),
)
def test_norms(numerators: list[int], denominator: int, weights: list[Fraction]) -> None:
    values = [Fraction(n, denominator) for n in numerators]
    for norm in (LINF, weighted_linf(*weights), weighted_l1(*weights)):
        assert norm_bounds(norm, numerators, denominator) == (size(norm, values),) * 2
    for norm in (L2, block_l2(1), block_l2(2), block_l2(3), block_l2(6)):
        low, high = norm_bounds(norm, numerators, denominator)
        assert low * low <= size(norm, values) <= high * high
        assert high - low <= high * Fraction(1, 2**150)


@given(st.lists(st.fractions(-1, 1), min_size=6, max_size=6), POSITIVE)
def test_the_radius_of_a_box(shares: list[Fraction], cell: Fraction) -> None:
    values = [share * cell for share in shares]
    for norm in (LINF, weighted_linf(*range(1, 7)), weighted_l1(*range(1, 7))):
        assert size(norm, values) <= coordinate_radius(norm, 6, cell)
    for norm in (L2, block_l2(2)):
        assert size(norm, values) <= coordinate_radius(norm, 6, cell) ** 2


@given(st.data())
def test_the_packed_residual_is_the_plain_one(data: st.DataObject) -> None:
    """Also at the edge of what a digit holds, and for weights too long to pack."""
    bits = data.draw(st.sampled_from([1, 7, 31, 63, 200]))
    edge = st.sampled_from([-(2**bits), -(2**bits) + 1, 2**bits, 0, 1, -1])
    numbers = st.one_of(edge, st.integers(-(2**bits), 2**bits))
    period = data.draw(st.integers(1, 7))
    count = data.draw(st.integers(1, 4))

    def column() -> tuple[int, ...]:
        drawn = data.draw(st.lists(numbers, min_size=period, max_size=period))
        return tuple((drawn * (PACK_FROM // period + 1))[:PACK_FROM])

    problem = LiftedProblem(tuple(column() for _ in range(count)), column(), 3, PACK_FROM)
    size = data.draw(st.sampled_from([3, 2**20, 2**30, 2**31, 2**40]))
    weights = data.draw(st.lists(st.integers(0, size), min_size=count, max_size=count))
    total = data.draw(st.integers(1, size))
    assert problem.residual(weights, total) == problem.residual_plain(weights, total)
