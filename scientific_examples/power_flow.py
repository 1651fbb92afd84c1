"""A power grid of 118 buses: its flow by Newton's method, the cheapest way to run it, and what power costs where.

    S = V ⊙ conj(Y V),   V = v ⊙ exp(i θ)

is the power that each bus gives to the grid: complex numbers, and a sparse matrix of admittances Y. Newton's method
finds the voltages for given powers: `J.sparse()` has the nonzeros of the Jacobian, found from these lines. The cheapest
flow chooses the powers of 54 generators under limits of voltages, generators and lines: Ipopt gets the sparse Jacobian
and Hessian from `primad.optimize.NonlinearProgram`. The grid is drawn at random, as large as the public case 118.

Needs: cyipopt (pip install 'primad[ipopt,plot]')
Reference: the balances; of a price, which is the multiplier of one, how the least cost changes with the demand.
Reach: newton 1e-12, balance 1e-12, price 1e-7, seconds 60
Toy: newton 1e-12, balance 1e-12, price 1e-7
"""

import numpy as np
from scipy import sparse
from scipy.optimize import NonlinearConstraint
from scipy.spatial.distance import cdist

import primad
from primad.optimize import NonlinearProgram


def grid(buses, lines, plants, seed=7):
    """Return places of buses (plants come first), ends and admittances of lines, demands, and costs of plants."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(size=(buses, 2))
    far = cdist(places, places)
    tree = sparse.csgraph.minimum_spanning_tree(far).toarray()
    length = np.triu(np.where(tree + tree.T > 0, 0.01, 1.0) * far)  # those of the tree are the first lines
    ends = np.array(np.unravel_index(np.argsort(np.where(length > 0, length, np.inf), axis=None)[:lines], far.shape))
    admittance = 1 / ((0.02 + 0.1j) * (0.2 + np.sqrt(buses) * far[*ends]))
    return places, ends, admittance, rng.uniform(0.1, 0.6, buses) * (1 + 0.3j), rng.uniform(10, 40, plants)


def matrices(buses, ends, admittance):
    """Return the admittances of buses, those by which lines draw currents, and the first bus of each line."""
    first, last = (sparse.eye_array(buses, format="csr")[end] for end in ends)
    drawn = sparse.csr_array(sparse.diags_array(admittance) @ (first - last))
    return sparse.csr_array((first - last).T @ drawn + sparse.diags_array(np.full(buses, 0.02j))), drawn, first


def powers(theta, v, Y):
    """Return the power that each bus gives to the grid."""
    voltage = v * np.exp(1j * theta)
    return voltage * np.conj(Y @ voltage)


def flow(Y, given, plants):
    """Return angles and voltages for given powers, by Newton's method from rest, and how far each step is off."""
    buses = len(given)

    def voltages(x):
        return np.concatenate([[0.0], x[: buses - 1]]), np.concatenate([np.full(plants, 1.02), x[buses - 1 :]])

    def off(x):
        found = powers(*voltages(x), Y) - given
        return np.concatenate([found.real[1:], found.imag[plants:]])

    x, sizes, J = np.append(np.zeros(buses - 1), np.ones(buses - plants)), [], primad.jacobian(off)
    for _ in range(8):
        sizes.append(np.max(np.abs(off(x))))
        x = x - sparse.linalg.spsolve(J(x).sparse("csc"), off(x))
    return voltages(x), sizes, J(x).pattern()


def cheapest(Y, drawn, first, demand, cost, start):
    """Return the cheapest flow, Ipopt's result, how far off it is, and how much lines are loaded."""

    def price(x):
        return np.sum(cost * x["p"] + 5 * x["p"] ** 2)

    def balance(x):
        found = powers(x["theta"], x["v"], Y) + demand
        made_p, made_q = (np.pad(x[name], (0, len(demand) - len(cost))) for name in "pq")
        return {"p": found.real - made_p, "q": found.imag - made_q}

    def loads(x):
        voltage = x["v"] * np.exp(1j * x["theta"])
        return np.abs((first @ voltage) * (drawn @ voltage)) ** 2

    turned = np.append(0.0, np.full(len(demand) - 1, 2.0))
    lower, upper = {"theta": -turned, "v": 0.94, "p": 0.0, "q": -1.0}, {"theta": turned, "v": 1.06, "p": 1.5, "q": 1.0}
    limits = [NonlinearConstraint(balance, 0.0, 0.0), NonlinearConstraint(loads, -np.inf, 1.0)]
    found = NonlinearProgram(price, start, bounds=(lower, upper), constraints=limits).solve(tol=1e-10)
    return found, np.max(np.abs(balance(found.x)["p"])), np.sqrt(loads(found.x))


def solve(toy=False):
    """Return errors of the balances and of a price, and what to draw."""
    buses, plants = 118, 54  # of a toy too: it takes a second
    places, ends, admittance, demand, cost = grid(buses, 186, plants)
    Y, drawn, first = matrices(buses, ends, admittance)
    made = np.full(plants, demand.real.sum() / plants)
    (theta, v), sizes, pattern = flow(Y, np.pad(made, (0, buses - plants)) - demand, plants)
    start = {"theta": theta, "v": v, "p": made, "q": np.zeros(plants)}
    best, balance, loads = cheapest(Y, drawn, first, demand, cost, start)
    more = np.append(np.zeros(buses - 1), 1e-4)
    higher, less = (cheapest(Y, drawn, first, demand + d, cost, best.x)[0].fun for d in (more, -more))
    prices = best.multipliers[0]["p"]
    error = abs((higher - less) / 2e-4 / prices[-1] - 1)
    return {"newton": sizes[-1], "balance": balance, "price": error}, (places, ends, prices, loads, pattern, sizes)


def draw(places, ends, prices, loads, pattern, sizes):
    """Draw the prices and how much lines are loaded, where the Jacobian has entries, and Newton's steps."""
    import matplotlib.pyplot as plt
    from matplotlib.collections import LineCollection

    figure = plt.gcf()
    figure.set_size_inches(9, 2.8)
    grid, middle, right = figure.subplots(1, 3)
    grid.add_collection(
        LineCollection(places[ends.T], array=loads, cmap="Reds", clim=(-0.3, 1), linewidths=3 * loads + 0.5)
    )
    shown = grid.scatter(*places.T, c=prices, s=14, zorder=2, cmap="viridis")
    grid.set(title="price of power, load of lines", xticks=[], yticks=[])
    figure.colorbar(shown, ax=grid, fraction=0.046)
    middle.spy(pattern, markersize=0.6)
    middle.set(title="the Jacobian", xticks=[], yticks=[])
    right.semilogy(sizes, "o-", markersize=4)
    right.set(title="power out of balance", xlabel="Newton's step")


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
