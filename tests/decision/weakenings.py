"""Random questions with evidence, and every way to take some of it away (design rule 4)."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from declared_questions import (
    bounded_variation,
    covering,
    declared,
    depths,
    floor_claims,
    growth,
    lifted,
    premise,
    quantized,
    schedule_claim,
    tolerance,
)
from lifted_questions import vector

from qreplace.claims import Claim
from qreplace.errors import InputError, Rejected
from qreplace.premises import ABSENT, Absent, Evidence, Premise
from qreplace.produce.frozen import produce as produce_frozen
from qreplace.question import model as q
from qreplace.question.frozen_start import frozen_start
from qreplace.question.subject import Subject

LABELS = list(Evidence)


@dataclasses.dataclass(frozen=True)
class Study:
    """A question with its claims."""

    question: q.Question
    claims: tuple[Claim, ...]


# --- random studies -------------------------------------------------------------------------------


class Draw:
    """Random blocks around the thresholds at which verdicts change."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def label(self) -> Evidence:
        return self.rng.choice(LABELS[:5])

    def fact(self, *values: str | int) -> Premise:
        value = Fraction(self.rng.choice(values))
        return premise(value, value + self.rng.choice([0, 0, Fraction(1, 1000)]), self.label())

    def perhaps(self, made: Callable[[], Any], share: float = 0.7) -> Any:
        return made() if self.rng.random() < share else None

    def growth(self) -> q.Growth:
        rate = self.fact("-3", "-1/2", "0", "1/10", "2")
        return growth(rate, self.rng.choice([1, "1/4", "1/40"]))

    def term(self, *values: str | int) -> Any:
        return ABSENT if self.rng.random() < 0.5 else self.fact(*values)

    def bracket(self, scale: Fraction) -> q.DeclaredFloor:
        low = scale * self.rng.choice([0, 0, Fraction(1, 2), 1, 2])
        high = low + scale * self.rng.choice([0, Fraction(1, 10), 1])
        return q.DeclaredFloor(
            "declared",
            self.perhaps(lambda: premise(low, low, self.label()), 0.8),
            self.perhaps(lambda: premise(high, high, self.label()), 0.9),
            self.rng.choice(["dictionary", "family"]),
        )

    def objective(self) -> q.Objective:
        kind = self.rng.randrange(8)
        if kind == 0:
            low = Fraction(self.rng.choice(["1/10", "1/2"]))
            wide = low + self.rng.choice([0, Fraction(1, 4)])
            return q.AccuracyMatching("accuracy_matching", premise(low, wide, self.label()))
        if kind == 1:
            return q.Behavioural("behavioural", self.fact("1/4", 1), self.fact(1, 2))
        return tolerance(self.rng.choice(["1/20", "1/4", "1/2", 1]))

    def execution(self) -> q.Execution:
        if self.rng.random() < 0.4:
            return q.ExactExecution("exact")
        semantics = self.rng.choice(["write_back", "write_back", "increment", "error_feedback"])
        overflow: q.Overflow = self.rng.choice(
            [
                q.Unbounded("unbounded"),
                q.Unbounded("unbounded"),
                q.Saturating("saturate", self.perhaps(lambda: self.fact("1/2", 5))),
                q.Wrapping("wrap", self.perhaps(lambda: self.fact(2, 6))),
            ]
        )
        return quantized(
            semantics,
            self.rng.choice(["1/10", "1/300", "1/3000", 4]),
            self.rng.choice([0, 0, 1, 2]),
            self.rng.choice(["nearest", "directed", "stochastic"]),
            limit=None if isinstance(overflow, q.Unbounded) else self.rng.choice([1, 5]),
            field_error=self.term(0, "1/100"),
            initial_error=self.term(0, "1/50"),
            overflow=overflow,
        )

    def domain(self) -> q.Domain:
        if self.rng.random() < 0.85:
            return q.WitnessDomain("witnesses", None)
        return q.FullDomain("full", None, self.perhaps(lambda: self.fact(0, "1/30"), 0.8))

    def metadata(self) -> tuple[q.Metadata, tuple[int, ...]]:
        if self.rng.random() < 0.75:
            return q.NoMetadata("none"), (0,)
        block = covering(dimension=self.rng.choice([1, 3]))
        facts = {"sensitivity": self.fact("1/2", 1), "constant": self.fact("1/4", 1)}
        return dataclasses.replace(block, **facts), self.rng.choice([(0, 4), (8,), (2, 9, 30)])

    def shared(self) -> dict[str, Any]:
        metadata, bits = self.metadata()
        return {
            "objective": self.objective(),
            "scope": self.rng.choice(["endpoint"] * 6 + ["path"]),
            "domain": self.domain(),
            "metadata": metadata,
            "execution": self.execution(),
            "search": depths(self.rng.choice([1, 8]), self.rng.choice([12, 24, 50]), bits=bits),
        }

    def synthesis(self) -> q.Synthesis:
        kind = self.rng.randrange(4)
        bound, lipschitz = self.fact("1/10", "1/2"), self.fact(0, "1/4", 1)
        rate = self.perhaps(self.growth, 0.5)
        if kind == 0:
            return q.ConstantSynthesis("constant", self.fact(0, 1, 4), bound, lipschitz, rate)
        if kind == 1:
            theta = Fraction(self.rng.choice([1, 2]), 2)
            return q.HoelderSynthesis(
                "hoelder", bound, lipschitz, theta, self.fact(0, "1/10"), rate
            )
        return bounded_variation(
            field_bound=bound,
            state_lipschitz=lipschitz,
            time_variation=self.term(0, "1/10"),
            growth=rate,
            difference_bound=self.perhaps(lambda: self.fact("1/20", "1/2", 9), 0.5),
            difference_lipschitz=self.perhaps(lambda: self.fact(0, "1/4", 9), 0.3),
            difference_variation=self.perhaps(lambda: self.term(0, "1/50", 9), 0.3),
        )

    def declared(self) -> Study:
        tube: q.Tube = q.WholeSpaceTube("whole_space")
        if self.rng.random() < 0.5:
            tube = q.DeclaredTube("declared", self.fact("1/1000", "1/10", 10))
        return Study(
            declared(
                floor=self.bracket(Fraction(1, 2)), synthesis=self.synthesis(), tube=tube,
                **self.shared(),
            ),
            (),
        )  # fmt: skip

    def lifted(self) -> Study:
        rng, n, count = self.rng, self.rng.randint(1, 2), self.rng.randint(1, 3)
        entries = [Fraction(k, 4) for k in range(-4, 5)]
        atoms: list[list[Any]] = [[rng.choice(entries) for _ in range(n)] for _ in range(count)]
        shares = [Fraction(1, count)] * count
        target = [
            sum((s * a[i] for s, a in zip(shares, atoms, strict=True)), Fraction(0))
            + rng.choice([0, 0, 0, 0, Fraction(1, 10), 2])
            for i in range(n)
        ]
        blocks = self.shared()
        if rng.random() < 0.3:
            blocks["floor"] = self.bracket(Fraction(1, 2))
        if rng.random() < 0.2:
            blocks["initial"] = vector([rng.choice(entries) for _ in range(n)])
        question = lifted(target, atoms, **blocks)
        subject = Subject(question, {})
        claims = floor_claims(subject)
        for depth in rng.sample(range(1, 13), 3):
            counts = [depth // count] * count
            counts[0] += depth - sum(counts)
            claims.append(schedule_claim(subject, counts))
        claims.extend(_frozen(subject))
        if rng.random() < 0.3:
            claims = rng.sample(claims, rng.randint(0, len(claims)))
        return Study(question, tuple(claims))


def _frozen(subject: Subject) -> list[Claim]:
    from qreplace.check.frozen import frozen_step_rule

    try:
        start = frozen_start(subject, 0)
        step = frozen_step_rule(subject, start)
    except (InputError, Rejected):
        return []
    claim = produce_frozen(subject, 0, start, step)
    return [] if claim is None else [claim]


# --- weakenings -----------------------------------------------------------------------------------

BLOCKS = ("floor", "synthesis", "metadata", "execution", "routing", "tube")


def weakenings(study: Study) -> Iterator[tuple[str, Study]]:
    """Each way to drop a claim, omit a block or degrade, widen or omit a premise."""
    question = study.question
    for i in range(len(study.claims)):
        kept = study.claims[:i] + study.claims[i + 1 :]
        yield f"claim {i} dropped", dataclasses.replace(study, claims=kept)
    for name in BLOCKS:
        if getattr(question, name) is not None:
            yield f"{name} omitted", _with(study, name, None)
    for name in (*BLOCKS, "objective", "domain"):
        for path, block in _weaker_blocks(getattr(question, name)):
            yield f"{name}.{path}", _with(study, name, block)


def _with(study: Study, name: str, value: Any) -> Study:
    return dataclasses.replace(study, question=dataclasses.replace(study.question, **{name: value}))


REQUIRED = {"margin": (q.DeclaredTube, q.Behavioural), "rate": (q.Growth,)}
"""Premises that a block cannot be without."""
ALWAYS = ("comparator", "readout")


def _weaker_blocks(block: Any) -> Iterator[tuple[str, Any]]:
    for name in getattr(block, "__dataclass_fields__", ()):
        value = getattr(block, name)
        if isinstance(value, Premise):
            for how, weaker in _weaker_premises(value):
                yield f"{name} {how}", dataclasses.replace(block, **{name: weaker})
        if isinstance(value, (q.Growth, q.Saturating, q.Wrapping)):
            for path, weaker in _weaker_blocks(value):
                yield f"{name}.{path}", dataclasses.replace(block, **{name: weaker})
        omitted = isinstance(value, (Premise, Absent, q.Growth))
        if omitted and name not in ALWAYS and not isinstance(block, REQUIRED.get(name, ())):
            yield f"{name} omitted", dataclasses.replace(block, **{name: None})
    if isinstance(block, q.Growth):
        yield "step_limit", dataclasses.replace(block, step_limit=block.step_limit / 3)
    if isinstance(block, q.DeclaredFloor) and block.covers == "family":
        yield "covers", dataclasses.replace(block, covers="dictionary")


def _weaker_premises(value: Premise) -> Iterator[tuple[str, Premise]]:
    for label in LABELS[value.evidence.rank + 1 :]:
        yield f"as {label.value}", dataclasses.replace(value, evidence=label)
    room = Fraction(1, 7)
    yield "wider above", dataclasses.replace(value, upper=value.upper + room)
    yield "wider below", dataclasses.replace(value, lower=value.lower - room)
