"""What GradBench's nightly runs say of C++, in milliseconds: of another machine, to compare orders of magnitude.

By hand (its tool `manual`), and by Enzyme for gmm, particle and saddle. From the summaries beside each evaluation in
its repository. The gradient of ode by hand is a formula, not the derivative of its steps.
"""

CPP: dict[str, dict[tuple[str, str], float]] = {
    "lse": {
        ("2500", "primal"): 0.01261, ("2500", "gradient"): 0.01314,
        ("40000", "primal"): 0.2079, ("40000", "gradient"): 0.2202,
        ("1280000", "primal"): 6.650, ("1280000", "gradient"): 7.077,
    },
    "llsq": {
        ("16,128", "primal"): 0.001963, ("16,128", "gradient"): 0.003954,
        ("512,128", "primal"): 0.06094, ("512,128", "gradient"): 0.1250,
        ("16392,128", "primal"): 1.950, ("16392,128", "gradient"): 4.007,
    },
    "ode": {
        ("1000,1", "primal"): 0.002064, ("1000,1", "gradient"): 0.001703,
        ("1000,100", "primal"): 0.2113, ("1000,100", "gradient"): 0.001724,
        ("10000,10", "primal"): 0.2798, ("10000,10", "gradient"): 0.01562,
        ("100000,1", "primal"): 1.273, ("100000,1", "gradient"): 0.1450,
        ("100000,100", "primal"): 61.95, ("100000,100", "gradient"): 0.1458,
    },
    "det": {
        ("5", "primal"): 0.001160, ("5", "gradient"): 0.005923,
        ("7", "primal"): 0.04678, ("7", "gradient"): 0.3274,
        ("9", "primal"): 3.358, ("9", "gradient"): 30.59,
        ("11", "primal"): 375.3, ("11", "gradient"): 4094.0,
    },
    "gmm": {
        ("2,5,1000", "objective"): 0.1062, ("2,5,1000", "jacobian"): 0.5397,
        ("10,25,1000", "objective"): 1.613, ("10,25,1000", "jacobian"): 5.400,
        ("20,100,1000", "objective"): 14.80, ("20,100,1000", "jacobian"): 52.06,
        ("64,100,1000", "objective"): 65.79, ("64,100,1000", "jacobian"): 277.2,
    },
    "lstm": {
        ("2,1024", "objective"): 2.271, ("2,1024", "jacobian"): 12.06,
        ("4,1024", "objective"): 4.427, ("4,1024", "jacobian"): 38.45,
        ("4,4096", "objective"): 18.03, ("4,4096", "jacobian"): 154.7,
    },
    "ba": {
        ("49,7776,31843", "objective"): 1.167, ("49,7776,31843", "jacobian"): 8.382,
        ("372,47423,204472", "objective"): 7.510, ("372,47423,204472", "jacobian"): 57.89,
        ("356,226730,1255268", "objective"): 46.36, ("356,226730,1255268", "jacobian"): 356.3,
    },
    "ht": {
        ("100,True", "objective"): 2.928, ("100,True", "jacobian"): 13.73,
        ("3200,True", "objective"): 2.787, ("3200,True", "jacobian"): 15.10,
        ("25600,True", "objective"): 2.956, ("25600,True", "jacobian"): 35.88,
    },
    "particle": {("", "rr"): 11.64, ("", "ff"): 0.8948, ("", "fr"): 2.880, ("", "rf"): 1.418},
    "saddle": {("", "rr"): 1.814, ("", "ff"): 1.397, ("", "fr"): 1.388, ("", "rf"): 1.777},
}  # fmt: skip
