"""Rules of users: custom derivatives and opaque functions."""
