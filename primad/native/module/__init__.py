"""The text of whole programs: fused loops, outlined parts, and the workers that run tiles."""
