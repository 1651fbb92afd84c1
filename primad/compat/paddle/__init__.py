"""Paddle's API over primad: `import primad.compat.paddle as paddle`."""
