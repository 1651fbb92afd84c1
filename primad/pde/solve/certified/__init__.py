"""What is proven of a solution: bounds of its residuals, and of its error."""
