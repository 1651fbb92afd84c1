"""Errors of points that cameras see, and the blocks of their derivatives by camera, point and weight."""

import numpy as np

import primad


def rotated(rotation, x):
    """Rodrigues' formula; for a rotation of angle 0 its limit."""
    square = np.sum(rotation**2)
    turned = square > 0
    angle = np.sqrt(np.where(turned, square, 1.0))
    axis = rotation / angle
    around = np.cos(angle) * x + np.sin(angle) * np.cross(axis, x) + (1 - np.cos(angle)) * np.sum(axis * x) * axis
    return np.where(turned, around, x + np.cross(rotation, x))


def residual(camera, x, weight, feature):
    seen = rotated(camera[:3], x - camera[3:6])
    flat = seen[:2] / seen[2]
    square = np.sum(flat**2)
    distorted = flat * (1 + camera[9] * square + camera[10] * square**2)
    return weight * (distorted * camera[6] + camera[7:9] - feature)


def objective(cameras, points, weights, features, camera_of, point_of):
    errors = primad.vmap(residual)(cameras[camera_of], points[point_of], weights, features)
    return errors, 1 - weights**2


def jacobian(cameras, points, weights, features, camera_of, point_of):
    blocks = primad.vmap(primad.jacobian(residual, argnums=(0, 1, 2)))
    camera, point, weight = blocks(cameras[camera_of], points[point_of], weights, features)
    errors = np.concatenate([camera, point, weight[:, :, None]], axis=2)
    return errors, primad.vmap(primad.grad(lambda w: 1 - w**2))(weights)


FUNCTIONS = {"objective": primad.jit(objective), "jacobian": primad.jit(jacobian)}
