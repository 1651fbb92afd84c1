"""The classes of paddle.nn."""
