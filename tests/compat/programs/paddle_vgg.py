"""VGG11's loss and gradients at given weights, sampled; takes the module `paddle`."""

import numpy as np


def gradients(paddle):
    paddle.seed(0)
    model = paddle.vision.models.vgg11()
    model.eval()
    rng = np.random.default_rng(0)
    for parameter in model.parameters():
        shape = parameter.shape
        scale = np.sqrt(2.0 / np.prod(shape[1:] if len(shape) == 4 else shape[:1]))
        drawn = rng.standard_normal(shape, dtype="float32") * np.float32(scale)
        parameter.set_value(drawn if len(shape) > 1 else np.abs(drawn) * np.float32(0.1))
    x = paddle.to_tensor(rng.standard_normal((2, 3, 64, 64), dtype="float32"))
    loss = paddle.nn.functional.cross_entropy(model(x), paddle.to_tensor([3, 700]))
    loss.backward()
    rows = []
    for name, parameter in model.named_parameters():
        flat = parameter.grad.numpy().reshape(-1)
        rows.append([name, float(np.sqrt(np.sum(flat.astype("float64") ** 2))), flat[:: max(1, flat.size // 40)]])
    return loss, rows
