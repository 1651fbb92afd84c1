"""The method of lines: derivatives in space on a grid of points, and steps in time by `primad.integrate`."""
