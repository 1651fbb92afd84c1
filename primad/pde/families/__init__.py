"""Families of problems: the functions that are their inputs."""
