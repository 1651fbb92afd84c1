"""Names of DeepXDE, and what is written here instead; `primad.pde` answers them."""

from __future__ import annotations

from primad.errors import PrimadError, no_attribute, suggestion

WRITTEN = {
    # geometry
    "Rectangle": "pde.Box(x=(0, 1), y=(0, 1))",
    "Cuboid": "pde.Box(x=(0, 1), y=(0, 1), z=(0, 1))",
    "Hypercube": "pde.Box(x=(0, 1), y=(0, 1), …)",
    "Sphere": "pde.Ball((0, 0, 0), radius=1)",
    "Hypersphere": "pde.Ball((0, 0, 0, 0), radius=1)",
    "Triangle": "pde.Polygon([(0, 0), (1, 0), (0, 1)])",
    "PointCloud": "pde.Mesh(points, cells), or pde.Data for measured values",
    "TimeDomain": "pde.Time(0, 1)",
    "GeometryXTime": "a product: pde.Interval(0, 1) * pde.Time(0, 1)",
    "CSGUnion": "a | b of two domains",
    "CSGDifference": "a - b of two domains",
    "CSGIntersection": "a & b of two domains",
    # conditions
    "DirichletBC": 'pde.Dirichlet(u=0, on="x-")',
    "NeumannBC": 'pde.Neumann(u=0, on="x+")',
    "RobinBC": 'pde.Robin(u=0, a=1, b=1, on="x+")',
    "PeriodicBC": 'pde.Periodic("x")',
    "OperatorBC": 'pde.Condition(lambda u, n: …, on="x+")',
    "PointSetBC": "pde.Data(x=…, u=…)",
    "PointSetOperatorBC": 'pde.Data({"u.x": …}, x=…), or pde.Data(x=…, v=…) of a further unknown v with an equation',
    "Interface2DBC": "pde.Interface(lambda u, v: …, of=…, on=…)",
    "IC": "pde.Initial(u=…), and pde.Initial(u=…, order=1) for the velocity",
    # networks
    "FNN": "pde.MLP(width=20, depth=3)",
    "PFNN": 'a network for each unknown: unknowns={"u": pde.MLP(), "v": pde.MLP()}',
    "ResNet": 'pde.MLP(form="residual")',
    "MsFFN": "pde.MLP(features=pde.Fourier(count=32, scale=1.0))",
    "STMsFFN": "pde.MLP(features=pde.Fourier(count=32, scale=1.0))",
    "DeepONetCartesianProd": 'network=pde.DeepONet(), family={"v": pde.GaussianProcess("x")} of pde.Problem',
    "PODDeepONet": "pde.DeepONet(): there are no bases from data",
    "MfNN": "there are no networks of several fidelities",
    # data and models
    "PDE": "pde.Problem(equation, domain, conditions)",
    "TimePDE": "pde.Problem(equation, domain * pde.Time(0, 1), conditions)",
    "IDE": "pde.Problem, with pde.integral(lambda s: K(x, s) * u(s), 0, x) in the equation",
    "FPDE": "there are no fractional derivatives",
    "TimeFPDE": "there are no fractional derivatives",
    "Triple": "pde.FamilyData(x=…, v=functions, u=values), at the same points for all functions",
    "TripleCartesianProd": "pde.FamilyData(x=…, v=functions, u=values) of a pde.Problem([], …, family=…)",
    "PDEOperator": "pde.Problem(…, family=…)",
    "PDEOperatorCartesianProd": "pde.Problem(…, family=…)",
    "GRF": 'pde.GaussianProcess("x", length=0.2)',
    "GRF_KL": 'pde.GaussianProcess("x", length=0.2)',
    "PowerSeries": 'pde.FourierSeries("x", terms=5), or pde.GivenFunctions("x", values)',
    "Function": "pde.Problem(lambda u, x: u.value - f(x), …), or pde.Data(x=…, u=…)",
    "DataSet": "pde.Data(x=…, u=…)",
    "Model": "pde.Problem(equation, domain, conditions).solve()",
    "Variable": 'coefficients={"k": 1.0} of pde.Problem',
    "saveplot": 'solution.plot("u")',
    "grad": 'derivatives have names: u.x, u.xx, u.d("x x t")',
    # what goes on during a run
    "PDEPointResampler": "solve(resample=50, refine=0.5)",
    "ModelCheckpoint": 'solve(checkpoint="folder")',
    "EarlyStopping": "solve(patience=100)",
    "Timer": "solve(seconds=60)",
    "VariableValue": "solution.plot_coefficients(), solution.history",
    "MovieDumper": 'solution.animate("t")',
    "OperatorPredictor": 'solution.u.d("x x")(x)',
    "DropoutUncertainty": "solution.confidence() of coefficients",
}
"""By name."""
SETTINGS = {
    "epochs": "steps=1000",
    "iterations": "steps=1000",
    "num_epochs": "steps=1000",
    "max_iter": "steps=1000",
    "maxiter": "steps=1000",
    "lr": "optimizer=optimize.Descent(nn.Adam(1e-3))",
    "learning_rate": "optimizer=optimize.Descent(nn.Adam(1e-3))",
    "method": "optimizer=optimize.LBFGS()",
    "num_domain": "points=1000",
    "batch_size": "points=1000, resample=1, which draws them anew for each step",
    "num_boundary": "boundary_points=200",
    "num_initial": "boundary_points=200",
    "num_test": "solution.error(points=1000, u=lambda x: …) afterwards",
    "loss_weights": 'weights={"equation": 1.0}',
    "train_distribution": 'pde.Problem(…, points_order="sobol")',
    "callbacks": "callback=f, of one function",
    "tol": "target=1e-8",
    "display_every": 'progress=True, or log="run.jsonl"',
    "verbose": "progress=False",
    "model_save_path": 'checkpoint="folder"',
    "model_restore_path": 'checkpoint="folder"',
}
"""Settings of runs by the names of DeepXDE and others, and those of `Problem.solve`."""
ANSWERS = {
    "predict": 'solution.at(points, "u"), or solution.u(x, y)',
    "restore": "problem.load(file)",
    "train": "problem.solve(params=solution.params), to go on",
    "train_step": "problem.solve(steps=1, params=solution.params)",
    "losshistory": "solution.history",
    "state_dict": "solution.params",
}
"""Attributes of their models, and those of a `Solution`."""


def missing(name: str, known: list[str]) -> PrimadError:
    """Return the error for a name that `primad.pde` does not have."""
    found = WRITTEN.get(name)
    fix = f"DeepXDE's {name} is written {found}." if found else suggestion(name, known)
    return no_attribute("primad.pde", name, (), fix or "dir(primad.pde) lists what it has.")
