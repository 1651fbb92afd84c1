"""The search for parameters: runs, solutions, histories, marching in time."""
