"""Whether what a function returns are residuals: real numbers, one a point, that move with what is sought."""

from __future__ import annotations

from collections.abc import Sequence

from primad.errors import ProblemError
from primad.ir.program import Program
from primad.transforms.lowering import active_nodes


def check_residuals(name: str, program: Program, sought: Sequence[bool], shape: tuple[int, ...]) -> None:
    """Refuse what no search can make zero, or what would be zero whatever the unknowns are.

    Args:
        name: of the term.
        program: of its residuals.
        sought: for each input whether it is a parameter of networks, or a coefficient.
        shape: of each residual: that of the points, or () of an integral.

    Raises:
        ProblemError: if there is no residual, or one is no real number at each point, or does not move with anything
            that is sought.
    """
    if not program.outputs:
        raise ProblemError(f"{name!r} returns no residual", fix="return what is to be zero: return u.xx - f, say.")
    moving = active_nodes(program, sought)
    for node in program.outputs:
        if node.type.dtype.kind in "biu":
            kind = "true or false" if node.type.dtype.kind == "b" else "a whole number"
            raise ProblemError(
                f"the residual of {name!r} is {kind}, of type {node.type.dtype}",
                why="It has no derivative that a search could follow, and may be 0 where nothing holds.",
                fix="return the difference of both sides: u.xx - f for the equation u.xx == f.",
            )
        if node not in moving:
            raise ProblemError(
                f"the residual of {name!r} does not move with any unknown or coefficient",
                why="It is the same whatever they are, or moves by jumps only, as np.sign and np.round do: "
                "a search has nothing to follow.",
                fix="return what is to be zero, with the unknowns in it, u.xx - f say; leave out what holds anyway; a "
                "jump that is meant is rounded off: np.tanh(u / 0.05) for np.sign(u).",
            )
        if node.type.shape != shape:
            raise _of_another_shape(name, node.type.shape, shape)


def _of_another_shape(name: str, found: tuple[int, ...], shape: tuple[int, ...]) -> ProblemError:
    if shape == ():
        return ProblemError(
            f"the integrand of {name!r} does not give a number",
            why=f"Summed over its points it has the shape {found}.",
            fix="return one number at each point.",
        )
    if found == ():
        return ProblemError(
            f"the residual of {name!r} is one number for all points together",
            why="A residual is one number at each point; their mean square is taken by the problem.",
            fix="return what np.mean or np.sum is taken of, without a square; what holds in the mean only is "
            "pde.Integral(lambda u: …, value).",
        )
    return ProblemError(
        f"the residual of {name!r} has the shape {found} at {shape[0]} points",
        why="A residual is one number at each point.",
        fix="return a tuple of several residuals; write u.value where an unknown is meant, not its points, "
        "and n·∇u as pde.normal_derivative(u, np.stack(n, axis=-1)) or n @ pde.gradient(u).",
    )
