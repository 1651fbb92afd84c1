"""Plans that run tile by tile: which axis is cut, how long tiles are, and sums over them."""
