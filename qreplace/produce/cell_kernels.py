"""Compiled loops of ``cells_fast``: affine forms of cells, clear side tests, cutting of cells.

Affine forms are rows ``(c_x, c_y, c_1, e)``: the function ``c_x x + c_y y + c_1`` and a bound e,
over the box around the polygon, of its distance from the exact function. The error bounds are
derived in ``cells_fast``; U is the unit roundoff and SLACK pays for rounding the bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import njit  # type: ignore[import-untyped, unused-ignore]
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.int32]
Bytes = NDArray[np.int8]
Counts = NDArray[np.int64]

U = 2.0**-53
SLACK = 1.0 + 2.0**-36
TINY = 1e-200
"""More than every underflow of one step of a map can lose."""

LOW, MIDDLE, HIGH = 0, 1, 2
BELOW, ON, ABOVE, UNCLEAR, UNKNOWN = -1, 0, 1, 2, 3
CELLS, VERTICES, ENTRIES, LINES = 0, 1, 2, 3
"""Places of the numbers in use, ``Mesh.used``; the arrays are longer."""


class Mesh(NamedTuple):
    """Cells, vertices and lines.

    Cell c is the entries ``start[c] .. start[c] + size[c]`` of ``corner`` (vertices,
    counterclockwise) and ``along`` (the line of the edge from there to the next). ``place`` is
    ``x, y, r_x, r_y`` of a vertex, ``crossed`` its two ends and kink, ``side`` the side of the
    present kink. ``first`` and ``following`` chain the present kink's new vertices by their smaller
    end. ``lines`` are forms; equal ``labels`` that are not negative name the same exact line.
    """

    used: Counts
    start: Numbers
    size: Numbers
    corner: Numbers
    along: Numbers
    place: Floats
    crossed: Numbers
    first: Numbers
    following: Numbers
    side: Bytes
    lines: Floats
    labels: Numbers


class Forms(NamedTuple):
    """What a cell knows: forms of the state and of u, shape (cells, coordinates, 4), and pieces.

    ``bare`` marks coordinates of u to which the state adds nothing on the cell, exactly.
    """

    state: Floats
    u: Floats
    bare: Bytes
    piece: Bytes


Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile, with IEEE arithmetic and no reordering, once per machine."""
    return cast(Function, njit(cache=True, error_model="numpy")(function))


@compiled
def pre_activations(
    cells: int,
    inputs: Floats,
    weights: Floats,
    bias: Floats,
    forms: Forms,
    reach: Floats,
) -> None:
    """The forms of ``u = W y + S z + b`` on every cell, from those of z; ``reach`` is (X, Y)."""
    n, d = weights.shape
    state, found = forms.state, forms.u
    gamma = (d + 8) * U
    for c in range(cells):
        for i in range(n):
            x, y, one = inputs[i, 0], inputs[i, 1], bias[i]
            error, bare = 0.0, True
            size = abs(x) * reach[0] + abs(y) * reach[1] + abs(one)
            for j in range(d):
                s = weights[i, j]
                if s == 0.0:
                    continue
                zx, zy, z1, ze = state[c, j, 0], state[c, j, 1], state[c, j, 2], state[c, j, 3]
                if zx == 0.0 and zy == 0.0 and z1 == 0.0 and ze == 0.0:
                    continue
                bare = False
                x += s * zx
                y += s * zy
                one += s * z1
                size += abs(s) * (abs(zx) * reach[0] + abs(zy) * reach[1] + abs(z1))
                error += abs(s) * ze
            found[c, i, 0], found[c, i, 1], found[c, i, 2] = x, y, one
            zero = bare and inputs[i, 0] == 0.0 and inputs[i, 1] == 0.0 and bias[i] == 0.0
            found[c, i, 3] = 0.0 if zero else (error + gamma * size) * SLACK + TINY
            forms.bare[c, i] = bare


@compiled
def advance(
    cells: int,
    levels: Floats,
    output: Floats,
    carry: Floats,
    offset: Floats,
    forms: Forms,
    reach: Floats,
    found: Floats,
) -> None:
    """The forms of ``V phi(u) + C z + o`` on every cell, phi by the pieces that hold there."""
    state, u, piece = forms.state, forms.u, forms.piece
    d, n = output.shape
    before = carry.shape[1]
    gamma = (n + before + 8) * U
    phi, total = np.empty((n, 4)), np.empty(4)
    for c in range(cells):
        for i in range(n):
            if piece[c, i] == MIDDLE:
                phi[i, 0] = phi[i, 1] = phi[i, 2] = phi[i, 3] = 0.0
                continue
            shift = levels[i] if piece[c, i] == LOW else -levels[i]
            phi[i, 0], phi[i, 1] = u[c, i, 0], u[c, i, 1]
            phi[i, 2] = u[c, i, 2] + shift
            phi[i, 3] = u[c, i, 3]
            if shift != 0.0:
                phi[i, 3] += 4.0 * U * (abs(u[c, i, 2]) + abs(shift)) + TINY
        for i in range(d):
            total[0], total[1], total[2], total[3] = 0.0, 0.0, offset[i], 0.0
            size = abs(offset[i])
            nonzero = offset[i] != 0.0
            for j in range(n + before):
                v = output[i, j] if j < n else carry[i, j - n]
                row = phi[j] if j < n else state[c, j - n]
                if v == 0.0 or (
                    row[0] == 0.0 and row[1] == 0.0 and row[2] == 0.0 and row[3] == 0.0
                ):
                    continue
                nonzero = True
                total[0] += v * row[0]
                total[1] += v * row[1]
                total[2] += v * row[2]
                total[3] += abs(v) * row[3]
                size += abs(v) * (abs(row[0]) * reach[0] + abs(row[1]) * reach[1] + abs(row[2]))
            found[c, i, 0], found[c, i, 1], found[c, i, 2] = total[0], total[1], total[2]
            found[c, i, 3] = (total[3] + gamma * size) * SLACK + TINY if nonzero else 0.0


@compiled
def classify(
    mesh: Mesh, forms: Forms, i: int, level: float, label: int, unclear: Numbers
) -> tuple[int, int, int]:
    """The side of every vertex of one kink where it is clear.

    Returns how many are unclear (listed in ``unclear``), and how many cells and entries a cut can
    make at most.
    """
    mesh.side[: mesh.used[VERTICES]] = UNKNOWN
    for c in range(mesh.used[CELLS]):
        begin, size = mesh.start[c], mesh.size[c]
        form = forms.u[c, i]
        zero = level == 0.0 and form[0] == 0.0 and form[1] == 0.0 and form[2] == 0.0
        zero = zero and form[3] == 0.0
        known_line = label >= 0 and forms.bare[c, i] == 1
        for k in range(size):
            v = mesh.corner[begin + k]
            if mesh.side[v] == UNKNOWN:
                mesh.side[v] = ON if zero else clear_side(form, level, mesh.place[v])
            if mesh.side[v] == UNCLEAR and known_line:
                ahead, back = mesh.along[begin + k], mesh.along[begin + (k + size - 1) % size]
                if mesh.labels[ahead] == label or mesh.labels[back] == label:
                    mesh.side[v] = ON
    open_tests = 0
    for v in range(mesh.used[VERTICES]):
        if mesh.side[v] == UNCLEAR:
            unclear[open_tests] = v
            open_tests += 1
    new_cells, entries = 0, 0
    for c in range(mesh.used[CELLS]):
        if straddles(mesh, c):
            new_cells += 1
            entries += 2 * mesh.size[c] + 4
    return open_tests, new_cells, entries


@compiled
def clear_side(form: Floats, level: float, place: Floats) -> int:
    """The side of ``form - level`` at a vertex, or UNCLEAR."""
    x, y = form[0] * place[0], form[1] * place[1]
    value = x + y + form[2] - level
    size = abs(x) + abs(y) + abs(form[2]) + abs(level)
    radius = form[3] + abs(form[0]) * place[2] + abs(form[1]) * place[3] + 8.0 * U * size
    radius = radius * SLACK + TINY
    if value > radius:
        return ABOVE
    return BELOW if value < -radius else UNCLEAR


@compiled
def straddles(mesh: Mesh, c: int) -> bool:
    """Whether a cell has, or may have, corners strictly on both sides."""
    below, above = False, False
    for k in range(mesh.start[c], mesh.start[c] + mesh.size[c]):
        s = mesh.side[mesh.corner[k]]
        below = below or s in (BELOW, UNCLEAR)
        above = above or s in (ABOVE, UNCLEAR)
    return below and above


@compiled
def meeting_point(
    a: int, b: int, edge: Floats, kink: Floats, place: Floats, reach: Floats, new: int
) -> None:
    """Place vertex ``new``: where the line of the edge a, b meets a kink, with its error radii."""
    det = edge[0] * kink[1] - edge[1] * kink[0]
    least = abs(det) - 4.0 * U * (abs(edge[0] * kink[1]) + abs(edge[1] * kink[0])) - TINY
    # Somewhere between the ends, whatever the lines say.
    x = 0.5 * place[a, 0] + 0.5 * place[b, 0]
    y = 0.5 * place[a, 1] + 0.5 * place[b, 1]
    spread_x = 0.5 * abs(place[a, 0] - place[b, 0]) + max(place[a, 2], place[b, 2])
    spread_y = 0.5 * abs(place[a, 1] - place[b, 1]) + max(place[a, 3], place[b, 3])
    rx = (spread_x + 4.0 * U * (abs(place[a, 0]) + abs(place[b, 0]))) * SLACK + TINY
    ry = (spread_y + 4.0 * U * (abs(place[a, 1]) + abs(place[b, 1]))) * SLACK + TINY
    if least > 0.0:
        px = (edge[1] * kink[2] - edge[2] * kink[1]) / det
        py = (edge[2] * kink[0] - edge[0] * kink[2]) / det
        if abs(px) <= 2.0 * reach[0] and abs(py) <= 2.0 * reach[1]:
            r1 = edge[0] * px + edge[1] * py + edge[2]
            s1 = abs(edge[0] * px) + abs(edge[1] * py) + abs(edge[2])
            r2 = kink[0] * px + kink[1] * py + kink[2]
            s2 = abs(kink[0] * px) + abs(kink[1] * py) + abs(kink[2])
            e1 = (abs(r1) + 6.0 * U * s1 + edge[3]) * SLACK + TINY
            e2 = (abs(r2) + 6.0 * U * s2 + kink[3]) * SLACK + TINY
            qx = ((abs(kink[1]) * e1 + abs(edge[1]) * e2) / least) * SLACK + TINY
            qy = ((abs(kink[0]) * e1 + abs(edge[0]) * e2) / least) * SLACK + TINY
            if qx + qy < rx + ry:
                x, y, rx, ry = px, py, qx, qy
    place[new, 0], place[new, 1], place[new, 2], place[new, 3] = x, y, rx, ry


@compiled
def crossed_vertex(
    mesh: Mesh, a: int, b: int, number: int, line: int, kink: Floats, reach: Floats
) -> int:
    """The vertex where the edge of a < b meets the kink; made when its first cell asks."""
    new = mesh.first[a]
    while new >= 0 and mesh.crossed[new, 1] != b:
        new = mesh.following[new]
    if new >= 0:
        return int(new)
    new = mesh.used[VERTICES]
    mesh.used[VERTICES] += 1
    mesh.crossed[new, 0], mesh.crossed[new, 1], mesh.crossed[new, 2] = a, b, number
    mesh.following[new] = mesh.first[a]
    mesh.first[a], mesh.first[new] = new, -1
    mesh.side[new] = ON
    meeting_point(a, b, mesh.lines[line], kink, mesh.place, reach, new)
    return int(new)


@compiled
def keep_half(
    mesh: Mesh, begin: int, size: int, mine: int, chord: int, number: int, reach: Floats
) -> None:
    """Append the part of a cell on side ``mine``; the cut runs along the line ``chord``."""
    at = mesh.used[ENTRIES]
    for k in range(size):
        v, line = mesh.corner[begin + k], mesh.along[begin + k]
        after = mesh.corner[begin + (k + 1) % size]
        s, t = mesh.side[v], mesh.side[after]
        if s != -mine:
            mesh.corner[at] = v
            mesh.along[at] = chord if (s == ON and t == -mine) else line
            at += 1
        if s * t < 0:
            a, b = min(v, after), max(v, after)
            mesh.corner[at] = crossed_vertex(mesh, a, b, number, line, mesh.lines[chord], reach)
            mesh.along[at] = chord if s == mine else line
            at += 1
    mesh.used[ENTRIES] = at


@compiled
def inherit(forms: Forms, c: int, new: int) -> None:
    """Give a cell what another one knows. Element by element, which compiles sooner."""
    for k in range(4):
        for j in range(forms.state.shape[1]):
            forms.state[new, j, k] = forms.state[c, j, k]
        for j in range(forms.u.shape[1]):
            forms.u[new, j, k] = forms.u[c, j, k]
    for j in range(forms.u.shape[1]):
        forms.bare[new, j] = forms.bare[c, j]
        forms.piece[new, j] = forms.piece[c, j]


@compiled
def cut(
    mesh: Mesh,
    forms: Forms,
    i: int,
    level: float,
    sign: int,
    number: int,
    label: int,
    reach: Floats,
) -> None:
    """Cut every cell with corners strictly on both sides of a kink; note the pieces that hold."""
    old_vertices = mesh.used[VERTICES]
    for c in range(mesh.used[CELLS]):
        if not straddles(mesh, c):
            continue
        new, chord = mesh.used[CELLS], mesh.used[LINES]
        mesh.used[CELLS] += 1
        mesh.used[LINES] += 1
        for k in range(4):
            mesh.lines[chord, k] = forms.u[c, i, k]
        if level != 0.0:
            mesh.lines[chord, 2] -= level
            error = 4.0 * U * (abs(forms.u[c, i, 2]) + abs(level))
            mesh.lines[chord, 3] = (forms.u[c, i, 3] + error) * SLACK + TINY
        mesh.labels[chord] = label if forms.bare[c, i] == 1 else -1
        begin, size = mesh.start[c], mesh.size[c]
        for mine in (BELOW, ABOVE):
            entries = mesh.used[ENTRIES]
            keep_half(mesh, begin, size, mine, chord, number, reach)
            half = c if mine == BELOW else new
            mesh.start[half], mesh.size[half] = entries, mesh.used[ENTRIES] - entries
        inherit(forms, c, new)
    for v in range(old_vertices, mesh.used[VERTICES]):
        mesh.first[mesh.crossed[v, 0]] = -1
    for c in range(mesh.used[CELLS]):
        s = ON
        for k in range(mesh.start[c], mesh.start[c] + mesh.size[c]):
            s = mesh.side[mesh.corner[k]]
            if s != ON:
                break
        if sign < 0:
            forms.piece[c, i] = LOW if s == BELOW else MIDDLE
        elif s == ABOVE:
            forms.piece[c, i] = HIGH
        elif sign == 0:
            forms.piece[c, i] = MIDDLE
