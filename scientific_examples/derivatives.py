"""A guided tour of primad: derivatives of any order, programs that can be read, Hessians, and proofs of your own rules.

It prints what it shows, and draws two functions with their derivatives.

Reference: SymPy, which proves the rule of the tour's own primitive and refutes a wrong one.
Reach: not_proved 0, wrong_rules_passed 0, seconds 10
Toy: not_proved 0, wrong_rules_passed 0
"""

import numpy as np

import primad
from primad import transforms


def title(text):
    """Print a heading."""
    print(f"\n{text}\n{'-' * len(text)}")


def programs():
    """Show a program before and after lowering, differentiating, transposing and simplifying."""
    title("1. A program before and after lowering, differentiating and simplifying")

    def misfit(x):
        return np.mean((np.sin(x) - 0.5) ** 2)

    vector = primad.ArrayType((8,), float)
    program = primad.trace(misfit)(vector)
    print("As it was written:", program, sep="\n")
    print("\nLowered to primitives:", primad.lower(program), sep="\n")
    print("\nIts JVP, the derivative along x_dot:", transforms.jvp(program), sep="\n")
    print("\nIts VJP, the same transposed: the cotangent ct comes in at the end.", transforms.vjp(program), sep="\n")
    gradient = primad.trace(primad.grad(misfit))(vector)
    print("\nThe gradient, simplified:", primad.simplify(gradient), sep="\n")


def hessians():
    """Use a Hessian of a network of 50 variables in three ways, none of which builds it."""
    title("2. A Hessian used three ways")
    rng = np.random.default_rng(0)
    first, second, last = rng.normal(size=(50, 64)) / 7, rng.normal(size=(64, 64)) / 8, rng.normal(size=64)

    def network(x):
        return np.tanh(np.tanh(x @ first) @ second) @ last

    x, v = rng.normal(size=50), rng.normal(size=50)
    H = primad.hessian(network)(x)
    print(repr(H))
    print(f"H @ v       = {(H @ v)[:3]} …")
    print(f"H[2, 3]     = {H[2, 3]:.6f}")
    print(f"np.trace(H) = {np.trace(H):.6f}")
    print(repr(H), "   <- still not computed")

    # The consumer chooses the computation; costs are counted, so they are the same everywhere.
    hessian = primad.hessian(network)
    uses = {
        "network(x)": network,
        "gradient": primad.grad(network),
        "H @ v": lambda x: hessian(x) @ v,
        "H[2, 3]": lambda x: hessian(x)[2, 3],
        "np.trace(H)": lambda x: np.trace(hessian(x)),
        "all of H": hessian,
    }
    print("\nMatrix products, in evaluations of the network:")
    unit = primad.trace(network)(x).cost().matmul_flops
    for name, use in uses.items():
        passes = primad.simplify(primad.trace(use)(x)).cost().matmul_flops / unit
        print(f"  {name:12}{passes:6.1f}  {'▇' * round(passes)}")


def own_primitives():
    """Prove the rule of a user's own primitive, and show how a wrong one is caught."""
    title("3. Your own primitive: one record, every transform, and a proof")
    gaussian = primad.elementwise(
        "gaussian",
        numpy=lambda x: np.exp(-x * x),
        partials=[lambda out, x: -2.0 * x * out],  # the result is at hand in its own rule
    )
    right = primad.verify(gaussian)
    print(right)

    title("4. A wrong rule is caught, with a counterexample")
    wrong = primad.elementwise("gaussian", numpy=lambda x: np.exp(-x * x), partials=[lambda out, x: -x * out])
    caught = primad.verify(wrong)
    print(caught)
    return gaussian, right, caught


def solve(toy=False):
    """Print the tour; return what was proved, and the primitive to draw."""
    programs()
    hessians()
    gaussian, right, caught = own_primitives()
    title("5. sin and its derivatives, plotted")
    print("primad.derivative(np.sin, 3)(0.5) =", primad.derivative(np.sin, 3)(0.5))
    return {"not_proved": len(right.failures), "wrong_rules_passed": int(caught.ok)}, (gaussian,)


def draw(gaussian):
    """Plot sin and the user's primitive with their derivatives; no derivative is written down anywhere."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(11, 4.2))
    x = np.linspace(-np.pi, np.pi, 401)
    for axes, function, name in ((panels[0], np.sin, "sin x"), (panels[1], gaussian, "exp(−x²)")):
        for order, label in enumerate(["the function", "first derivative", "second derivative", "third derivative"]):
            axes.plot(x, primad.derivative(function, order)(x), linewidth=1.5 if order else 3, label=label)
        axes.axhline(0, color="C7", linewidth=0.5)
        axes.set(title=name, ylabel="value", xlabel="x (radians)" if function is np.sin else "x")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
