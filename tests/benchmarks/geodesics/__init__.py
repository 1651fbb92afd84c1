"""Geomstats' geodesics by Runge-Kutta steps, differentiated with several of its backends."""
