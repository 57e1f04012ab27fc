"""Lowering of what is known: floor, synthesis, metadata and tube."""

from __future__ import annotations

from collections import Counter

from qreplace.errors import InputError
from qreplace.premises import Premise
from qreplace.question import model as q
from qreplace.spec.blocks import constants as c
from qreplace.spec.blocks import dictionary as d
from qreplace.spec.blocks import floor as f
from qreplace.spec.blocks import objective as o
from qreplace.spec.lower.asked import listed
from qreplace.spec.lower.context import Lowering
from qreplace.spec.model import Spec
from qreplace.spec.norms import describe


def floor(spec: Spec, context: Lowering) -> q.Floor | None:
    """The request for a floor, or its declared bracket."""
    floor = spec.structural_floor
    if floor is None:
        return None
    if isinstance(floor, f.ComputedFloorSpec):
        return _computed_floor(floor, spec.system, context)
    ends = [
        _in_norm(context.optional(end, f"floor.{name}"), floor.norm, spec.objective.norm)
        for name, end in (("lower", floor.lower), ("upper", floor.upper))
    ]
    return q.DeclaredFloor("declared", ends[0], ends[1], floor.covers)


def _computed_floor(
    floor: f.ComputedFloorSpec, system: d.SystemSpec, context: Lowering
) -> q.ComputedFloor:
    """The request; blocks by the coordinates of their states, in one order."""
    names = system.names if isinstance(system, d.PolynomialSystemSpec) else ()
    blocks = sorted(tuple(sorted(names.index(name) for name in block)) for block in floor.blocks)
    return q.ComputedFloor(
        kind="compute",
        engine=floor.compute,
        order=floor.order,
        region=tuple(
            context.polynomial("structural_floor", "region", index)
            for index in range(len(floor.region))
        ),
        blocks=tuple(blocks),
    )


def _in_norm(premise: Premise | None, own: o.NormSpec | None, study: o.NormSpec) -> Premise | None:
    """The premise, which says so where it was shown in another norm that bounds the right way."""
    if premise is None or own is None or own == study:
        return premise
    note = f"shown in {describe(own)}, which bounds {describe(study)} on this side"
    return Premise(
        kind="declared",
        lower=premise.lower,
        upper=premise.upper,
        evidence=premise.evidence,
        source=premise.source,
        assumptions=(*premise.assumptions, note),
    )


def _growth(spec: c.GrowthSpec | None, context: Lowering) -> q.Growth | None:
    if spec is None:
        return None
    return q.Growth(context.premise(spec.rate, "synthesis.growth.rate"), spec.step_limit.value)


def synthesis(spec: Spec, context: Lowering) -> q.Synthesis | None:
    """The synthesis block; a system with data computes its own where nothing is declared."""
    block = spec.synthesis
    if block is None:
        declared = isinstance(spec.system, d.DeclaredSystemSpec)
        return None if declared else q.ComputedSynthesis("computed")
    if isinstance(block, c.ComputedSynthesisSpec):
        return q.ComputedSynthesis("computed")
    field_bound = context.optional(block.field_bound, "synthesis.field_bound")
    lipschitz = context.optional(block.state_lipschitz, "synthesis.state_lipschitz")
    growth = _growth(block.growth, context)
    match block:
        case c.ConstantSynthesisSpec():
            constant = context.premise(block.constant, "synthesis.constant")
            return q.ConstantSynthesis("constant", constant, field_bound, lipschitz, growth)
        case c.HoelderSpec():
            return q.HoelderSynthesis(
                kind="hoelder",
                field_bound=field_bound,
                state_lipschitz=lipschitz,
                exponent=block.exponent,
                constant=context.optional(block.constant, "synthesis.constant"),
                growth=growth,
            )
    return q.BoundedVariationSynthesis(
        kind="bounded_variation",
        field_bound=field_bound,
        state_lipschitz=lipschitz,
        time_variation=context.term(block.time_variation, "synthesis.time_variation"),
        growth=growth,
        difference_bound=context.optional(block.difference_bound, "synthesis.difference_bound"),
        difference_lipschitz=context.optional(
            block.difference_lipschitz, "synthesis.difference_lipschitz"
        ),
        difference_variation=context.term(
            block.difference_variation, "synthesis.difference_variation"
        ),
    )


def metadata(spec: c.MetadataSpec | None, context: Lowering) -> q.Metadata | None:
    """The metadata block; ``None`` when it is left out."""
    match spec:
        case None:
            return None
        case c.NoMetadataSpec():
            return q.NoMetadata("none")
        case c.CoveringSpec():
            return q.CoveringMetadata(
                kind="covering",
                sensitivity=context.optional(spec.sensitivity, "metadata.sensitivity"),
                constant=context.optional(spec.constant, "metadata.constant"),
                dimension=spec.dimension or _family(spec).dimension,
                family=None if spec.family is None else _family(spec),
                targets=context.optional(spec.targets, "metadata.targets"),
            )
    codes = sorted(
        (
            q.MetadataCode(
                code.bits,
                listed(code.dictionary, ("metadata", "codes", index, "dictionary"), context),
            )
            for index, code in enumerate(spec.codes)
        ),
        key=lambda code: code.bits,
    )
    return q.CodesMetadata("codes", tuple(codes))


def tube(spec: c.TubeSpec | None, context: Lowering) -> q.Tube | None:
    """The tube; ``None`` when it is left out."""
    match spec:
        case None:
            return None
        case c.WholeSpaceSpec():
            return q.WholeSpaceTube("whole_space")
    return q.DeclaredTube("declared", context.premise(spec.margin, "tube.margin"))


def _family(spec: c.CoveringSpec) -> q.ParameterFamily:
    """A described family as a box of parameters, equal half widths together."""
    match spec.family:
        case c.ScalesFamilySpec(low=low, high=high, count=count):
            return q.ParameterFamily((q.ParameterGroup((high - low) / 2, count),), "linf")
        case c.CodebookFamilySpec(entries=entries, dimension=dimension) as family:
            group = q.ParameterGroup(family.half_width, entries * dimension)
            return q.ParameterFamily((group,), family.norm)
        case c.BoxFamilySpec(half_widths=widths) as family:
            counts = Counter(widths)
            groups = tuple(q.ParameterGroup(w, counts[w]) for w in sorted(counts, reverse=True))
            return q.ParameterFamily(groups, family.norm)
        case None:
            raise InputError("a covering without a dimension needs a family")
