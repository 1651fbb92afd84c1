"""What primad does with a function: costs before and after each family of laws, the plan, the time, a picture.

And what it sees of the machine.
"""

from primad.explanation.explained import Explanation, explain
from primad.explanation.versions import show_versions

__all__ = ["Explanation", "explain", "show_versions"]
