"""Derivatives for users: gradients, products, higher orders, lazy Jacobians and Hessians."""
