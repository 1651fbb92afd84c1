"""What native code says of a failure that no element is to blame for."""

from enum import IntEnum


class FailurePlace(IntEnum):
    """Places of failures that are not those of elements, which are 0 and above.

    Attributes:
        INTERRUPTED: the handler of a signal ended a loop: the value is the address of what it raised.
    """

    INTERRUPTED = -1
