"""A system's process for `tests.benchmarks.models`: runs one training step for each line that it reads.

Arguments: workload, system, dtype. The answer to a line is JSON: seconds of each stage, the loss and the norm of the
gradients before the step (all systems start from the same weights), and peak memory.
"""

import itertools
import json
import resource
import sys
import time

import numpy as np

STAGES = {64: 1, 128: 1, 256: 2, 512: 2, 513: 2}
"""VGG11's convolutions before each pooling, by channels (513 stands for the second stage of 512)."""


def vgg_weights():
    """Yield the weights and biases of VGG11, layer by layer, for 1000 classes: (out, in, 3, 3), then (in, out)."""
    rng = np.random.default_rng(0)
    before = 3
    shapes = []
    for channels, count in STAGES.items():
        channels = min(channels, 512)
        for _ in range(count):
            shapes.append((channels, before, 3, 3))
            before = channels
    for shape in (*shapes, (25088, 4096), (4096, 4096), (4096, 1000)):
        inputs = np.prod(shape[1:]) if len(shape) == 4 else shape[0]
        yield rng.standard_normal(shape, dtype="float32") * np.float32(np.sqrt(2.0 / inputs))
        yield np.zeros(shape[0] if len(shape) == 4 else shape[1], "float32")


def image():
    """Return the batch: one image."""
    return np.random.default_rng(1).random((1, 3, 224, 224), dtype="float32")


def vgg11_paddle(paddle, dtype):
    """VGG11 in Paddle's API."""
    model = paddle.vision.models.vgg11()
    model.eval()
    for parameter, value in zip(model.parameters(), vgg_weights(), strict=True):
        parameter.set_value(value)
    x, label = paddle.to_tensor(image()), paddle.to_tensor([7])
    optimizer = paddle.optimizer.Adam(1e-6, parameters=model.parameters())

    def stages():
        loss = paddle.nn.functional.cross_entropy(model(x), label)
        yield "forward"
        loss.backward()
        yield "backward"
        optimizer.step()
        yield "adam"
        norm = np.sqrt(sum(float((p.grad * p.grad).sum()) for p in model.parameters()))
        optimizer.clear_grad(False)
        yield float(loss), norm

    return stages


def vgg11_torch(torch, dtype):
    """VGG11 in PyTorch."""
    nn = torch.nn
    layers, before = [], 3
    for channels, count in STAGES.items():
        channels = min(channels, 512)
        for _ in range(count):
            layers += [nn.Conv2d(before, channels, 3, padding=1), nn.ReLU()]
            before = channels
        layers.append(nn.MaxPool2d(2, 2))
    layers += [nn.AdaptiveAvgPool2d(7), nn.Flatten(), nn.Linear(25088, 4096), nn.ReLU(), nn.Linear(4096, 4096)]
    model = nn.Sequential(*layers, nn.ReLU(), nn.Linear(4096, 1000))
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), vgg_weights(), strict=True):
            parameter.copy_(torch.from_numpy(value.T if value.ndim == 2 else value))
    x, label = torch.from_numpy(image()), torch.tensor([7])
    optimizer = torch.optim.Adam(model.parameters(), 1e-6)

    def stages():
        loss = nn.functional.cross_entropy(model(x), label)
        yield "forward"
        loss.backward()
        yield "backward"
        optimizer.step()
        yield "adam"
        norm = float(torch.sqrt(sum((p.grad * p.grad).sum() for p in model.parameters())))
        optimizer.zero_grad()
        yield float(loss.detach()), norm

    return stages


def burgers_paddle(paddle, dtype):
    """The residual of Burgers' equation and its gradient, in Paddle's API: the workload `burgers` of workloads.py."""
    rng = np.random.default_rng(0)
    sizes, points = (2, 64, 64, 64, 64, 1), 10_000
    parameters = []
    for n, m in itertools.pairwise(sizes):
        for value in (rng.normal(size=(n, m)) / np.sqrt(n), 0.1 * rng.normal(size=m)):
            parameters.append(paddle.to_tensor(value.astype(dtype), stop_gradient=False))
    places = np.random.default_rng(1).uniform(-1.0, 1.0, (points, 2)).astype(dtype)
    x = paddle.to_tensor(places[:, :1], stop_gradient=False)
    t = paddle.to_tensor(places[:, 1:], stop_gradient=False)

    def stages():
        h = paddle.concat([x, t], 1)
        for w, b in zip(parameters[:-2:2], parameters[1:-2:2], strict=True):
            h = paddle.tanh(paddle.matmul(h, w) + b)
        u = paddle.matmul(h, parameters[-2]) + parameters[-1]
        u_x, u_t = paddle.grad(u, [x, t], create_graph=True)
        (u_xx,) = paddle.grad(u_x, x, create_graph=True)
        residual = u_t + u * u_x - (0.01 / np.pi) * u_xx
        loss = paddle.mean(residual * residual)
        yield "residual"
        loss.backward()
        yield "backward"
        norm = np.sqrt(sum(float((p.grad * p.grad).sum()) for p in parameters))
        for p in parameters:
            p.clear_grad()
        yield float(loss), norm

    return stages


def load(system):
    """Import a system."""
    if system == "primad":
        import primad.compat.paddle as module
    elif system == "paddle":
        import paddle as module
    else:
        import torch as module
    return module


def main() -> None:
    workload, system, dtype = sys.argv[1:4]
    make = {
        ("vgg11", "primad"): vgg11_paddle, ("vgg11", "paddle"): vgg11_paddle, ("vgg11", "torch"): vgg11_torch,
        ("paddle-burgers", "primad"): burgers_paddle, ("paddle-burgers", "paddle"): burgers_paddle,
    }[workload, system]  # fmt: skip
    stages = make(load(system), dtype)
    print(json.dumps({"ready": True}), flush=True)
    for _ in sys.stdin:
        seconds, start = {}, time.perf_counter()
        for stage in stages():
            if isinstance(stage, tuple):
                value, norm = stage
            else:
                seconds[stage] = time.perf_counter() - start
                start = time.perf_counter()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": seconds, "value": value, "norm": norm, "peak_mb": peak}), flush=True)


main()
