"""Domains, meshes and points in them."""
