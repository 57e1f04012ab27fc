"""A schedule whose weighted sum comes near a target: a mixed-integer programme in floats.

It only proposes: what a schedule errs by is for exact arithmetic to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from qreplace.errors import ProducerFailed

NODES = 2000
"""Most nodes of one programme, so that its answer does not depend on the machine's speed."""


def mixed_schedule(
    values: Sequence[Sequence[Fraction]],
    target: Sequence[Fraction],
    weights: Sequence[Fraction],
) -> tuple[int, ...]:
    """Atoms ``a_k`` with a small ``max_i |sum_k weights[k] values[i][a_k] - target[i]|``.

    ``values`` (rows, atoms), ``target`` (rows,), ``weights`` (steps,). Raises ``ProducerFailed``
    where HiGHS finds no assignment within ``NODES``.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    rows = np.array([[float(v) for v in row] for row in values])
    aim = np.array([float(v) for v in target])
    steps, atoms = len(weights), rows.shape[1]
    sums = np.hstack([float(w) * rows for w in weights])
    slack = np.ones((len(aim), 1))
    once = np.hstack([np.kron(np.eye(steps), np.ones((1, atoms))), np.zeros((steps, 1))])
    found = milp(
        np.append(np.zeros(steps * atoms), 1.0),
        constraints=[
            LinearConstraint(np.hstack([sums, -slack]), -np.inf, aim),
            LinearConstraint(np.hstack([sums, slack]), aim, np.inf),
            LinearConstraint(once, 1.0, 1.0),
        ],
        integrality=np.append(np.ones(steps * atoms), 0.0),
        bounds=Bounds(0.0, np.append(np.ones(steps * atoms), np.inf)),
        options={"node_limit": NODES},
    )
    if found.x is None:
        raise ProducerFailed(f"no schedule of {steps} steps was found in {NODES} nodes")
    chosen = found.x[:-1].reshape(steps, atoms)
    return tuple(int(j) for j in chosen.argmax(axis=1))
