"""What is found of loops in Python, and what steps that change compute with."""
