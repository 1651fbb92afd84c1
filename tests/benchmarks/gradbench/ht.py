"""Distances of measured points to the surface of a hand, of which bones are turned and the skin follows."""

import numpy as np

import primad
import primad.numpy as pnp

FINGERS = 5


def angles_of_bones(theta, bones):
    """Three angles a bone: of each finger the first bone has two that are free, the next two have one."""
    angles = pnp.zeros((bones, 3))
    for finger in range(FINGERS):
        first, free = 2 + 4 * finger, theta[6 + 4 * finger : 10 + 4 * finger]
        angles[first, 0], angles[first, 1] = free[0], free[1]
        angles[first + 1, 0], angles[first + 2, 0] = free[2], free[3]
    return angles


def turns(angles):
    """Rotations about x, then y, then z, of bones whose angles come in the order x, z, y."""
    x, z, y = angles[:, 0], angles[:, 1], angles[:, 2]
    sx, cx, sy, cy, sz, cz = np.sin(x), np.cos(x), np.sin(y), np.cos(y), np.sin(z), np.cos(z)
    found = pnp.zeros((len(angles), 4, 4))
    found[:, 0, 0], found[:, 0, 1], found[:, 0, 2] = cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx
    found[:, 1, 0], found[:, 1, 1], found[:, 1, 2] = sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx
    found[:, 2, 0], found[:, 2, 1], found[:, 2, 2] = -sy, cy * sx, cy * cx
    found[:, 3, 3] = 1.0
    return found


def rotation(vector):
    """The rotation about a vector by its length: Rodrigues' formula."""
    angle = np.sqrt(np.sum(vector**2))
    x, y, z = vector / angle
    cross = pnp.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross)


def surface(theta, parents, model):
    """Where the vertices are, (V, 3)."""
    relatives = model["base_relatives"] @ turns(angles_of_bones(theta, len(parents)))
    absolutes = []
    for bone, parent in enumerate(parents):
        absolutes.append(relatives[bone] if parent < 0 else absolutes[parent] @ relatives[bone])
    transforms = np.stack(absolutes) @ model["inverse_base_absolutes"]
    skin = np.einsum("vb,bij,vj->vi", model["weights"], transforms[:, :3], model["base_positions"])
    return skin @ rotation(theta[:3]).T + theta[3:6]


def residual(u, corners, point):
    return point - (u[0] * corners[0] + u[1] * corners[1] + (1 - u[0] - u[1]) * corners[2])


def objective(theta, us, parents, model, corners, points):
    vertices = surface(theta, parents, model)
    if us is None:
        return points - vertices[corners]
    return primad.vmap(residual)(us, vertices[corners], points)


def jacobian(theta, us, parents, model, corners, points):
    by_theta = primad.jacobian(objective)(theta, us, parents, model, corners, points)[:]
    if us is None:
        return by_theta
    by_u = primad.vmap(primad.jacobian(residual))(us, surface(theta, parents, model)[corners], points)
    return np.concatenate([by_u, by_theta], axis=2)


FUNCTIONS = {"objective": primad.jit(objective, static_argnums=2), "jacobian": primad.jit(jacobian, static_argnums=2)}
