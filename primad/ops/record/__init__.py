"""The record of an op: its class, its kinds, from which rules follow, and how rules are joined."""
