"""Threads of this process and processes of a job, and how work is divided among them."""
