"""Program-to-program transforms: lower, jvp, transpose (and with it vjp), vmap. Each is one loop over nodes."""
