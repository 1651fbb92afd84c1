"""Small programs with paddle.incubate.autograd; each takes the module `paddle` (see golden/encoding.py)."""

import numpy as np


def _matmul(paddle):
    return lambda x: paddle.matmul(x, x)


def vjp_of_a_product(paddle):
    vjp, x = paddle.incubate.autograd.vjp, paddle.ones([2, 2])
    v = paddle.to_tensor([[1.0, 0.0], [0.0, 0.0]])
    return vjp(_matmul(paddle), x), vjp(_matmul(paddle), x, v)


def jvp_of_a_product(paddle):
    jvp, x = paddle.incubate.autograd.jvp, paddle.ones([2, 2])
    v = paddle.to_tensor([[1.0, 0.0], [0.0, 0.0]])
    return jvp(_matmul(paddle), x), jvp(_matmul(paddle), x, v)


def structures(paddle):
    ia = paddle.incubate.autograd
    x, y = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([3.0, 4.0])

    def one(x, y):
        return x * y

    def two(x, y):
        return x * y, x + paddle.exp(y)

    results = [ia.vjp(one, [x, y]), ia.vjp(two, [x, y]), ia.jvp(one, [x, y]), ia.jvp(two, [x, y])]
    kinds = [[type(part).__name__ for part in result] for result in results]
    return results, [["tuple" if kind == "list" else kind for kind in row] for row in kinds]


def the_same_argument_twice(paddle):
    x = paddle.to_tensor([1.0, 2.0])
    return paddle.incubate.autograd.vjp(lambda a, b: a * a * b, [x, x])


def unused_arguments(paddle):
    x, y = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([3.0, 4.0])
    return paddle.incubate.autograd.vjp(lambda a, b: a * 2.0, [x, y])[1]


def connected_to_the_argument(paddle):
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    _, pulled = paddle.incubate.autograd.vjp(lambda a: a**3, x)
    pulled.sum().backward()
    return pulled, x.grad


def jacobian_of_two(paddle):
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    J = paddle.incubate.autograd.Jacobian(lambda x, y: paddle.matmul(x, y), [x, x])
    return list(J.shape), J[:], J[0], J[0, :], J[:, 0], J[1:3], J[1:3, 2], J[-1], J[2, 3], J[:, 1:4], J[0:2, -1]


def jacobian_in_batches(paddle):
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    def function(x):
        return paddle.stack([x[:, 0] * x[:, 1], x[:, 1] ** 2, x[:, 0]], 1)

    J = paddle.incubate.autograd.Jacobian(function, x, True)
    return list(J.shape), J[:], J[:, 0], J[:, 0, :], J[:, :, 1], J[1, :, 0], J[:, 1:3], J[0:2, -1]


def jacobian_in_batches_of_two(paddle):
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    y = paddle.to_tensor([[0.5], [2.0]])
    J = paddle.incubate.autograd.Jacobian(lambda x, y: x * y, [x, y], is_batched=True)
    return list(J.shape), J[:]


def hessian_of_a_sum(paddle):
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    H = paddle.incubate.autograd.Hessian(lambda x: paddle.sum(x * x), x)
    return list(H.shape), H[:], H[0], H[:, 1], H[2, 2]


def hessian_of_a_product_sum(paddle):
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    H = paddle.incubate.autograd.Hessian(lambda x: paddle.sum(paddle.matmul(x, paddle.transpose(x, [1, 0]))), x)
    return H[:]


def hessian_of_two(paddle):
    x, y = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([3.0, 4.0])
    H = paddle.incubate.autograd.Hessian(lambda x, y: paddle.sum(x * y * y), [x, y])
    return list(H.shape), H[:]


def hessian_in_batches(paddle):
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    H = paddle.incubate.autograd.Hessian(lambda x: (x[:, 0] * x[:, 1] ** 2).unsqueeze(-1), x, is_batched=True)
    return list(H.shape), H[:], H[:, 0], H[1]


def hessian_of_two_results(paddle):
    x = paddle.to_tensor([1.0, 2.0])
    return paddle.incubate.autograd.Hessian(lambda x: x * x, x)[:]


def no_function(paddle):
    return paddle.incubate.autograd.vjp(3, paddle.ones([2]))


def no_tensor(paddle):
    return paddle.incubate.autograd.vjp(lambda x: x, 3.0)


def no_tensor_in_the_list(paddle):
    return paddle.incubate.autograd.jvp(lambda x: x, [3.0])


def a_vector_of_another_length(paddle):
    x = paddle.ones([2, 2])
    return paddle.incubate.autograd.vjp(_matmul(paddle), x, [x, x])


def a_vector_of_another_shape(paddle):
    return paddle.incubate.autograd.vjp(paddle.square, paddle.ones([3]), paddle.ones([1]))


def a_tangent_of_another_shape(paddle):
    return paddle.incubate.autograd.jvp(paddle.square, paddle.ones([3]), paddle.ones([1]))


def a_vector_that_is_no_tensor(paddle):
    return paddle.incubate.autograd.vjp(paddle.square, paddle.ones([3]), np.ones(3))


def an_index_beyond_the_rows(paddle):
    x = paddle.to_tensor([1.0, 2.0])
    return paddle.incubate.autograd.Jacobian(paddle.sin, x)[5]
