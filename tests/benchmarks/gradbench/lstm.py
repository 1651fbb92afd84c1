"""The loss of a recurrent network with diagonal weights over a sequence of characters, each of them bits."""

import numpy as np

import primad


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def layer(weights, biases, hidden, cell, x):
    forget = sigmoid(x * weights[0] + biases[0])
    ingate = sigmoid(hidden * weights[1] + biases[1])
    outgate = sigmoid(x * weights[2] + biases[2])
    change = np.tanh(hidden * weights[3] + biases[3])
    cell = cell * forget + ingate * change
    return outgate * np.tanh(cell), cell


def objective(main, extra, state, sequence):
    bits = sequence.shape[1]
    parameters = np.reshape(main, (-1, 2, 4, bits))  # of each layer weights and biases of the four gates

    def step(state, characters):
        x, target = characters
        x = x * extra[0]
        after = []
        for (weights, biases), (hidden, cell) in zip(parameters, state, strict=True):
            x, cell = layer(weights, biases, hidden, cell, x)
            after.append((x, cell))
        predicted = x * extra[1] + extra[2]
        normalized = predicted - np.log(np.sum(np.exp(predicted)) + 2)
        return after, np.sum(target * normalized)

    start = [(state[i], state[i + 1]) for i in range(0, len(state), 2)]
    _, scores = primad.scan(step, start, (sequence[:-1], sequence[1:]))
    return -np.sum(scores) / (len(scores) * bits)


FUNCTIONS = {"objective": primad.jit(objective), "jacobian": primad.jit(primad.grad(objective, argnums=(0, 1)))}
