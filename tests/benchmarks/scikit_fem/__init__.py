"""Assembly and solution by finite elements beside scikit-fem."""
