"""Programs as functions of `jax.numpy`: one table from ops to functions, and what replays a program with it."""
