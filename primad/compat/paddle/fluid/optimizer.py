"""`fluid.optimizer`: the optimisers under their names of Paddle 1.x."""

from primad.compat.paddle.optimizer import SGD, Adam, Momentum

SGDOptimizer = SGD
MomentumOptimizer = Momentum
AdamOptimizer = Adam

__all__ = ["SGD", "Adam", "AdamOptimizer", "Momentum", "MomentumOptimizer", "SGDOptimizer"]
