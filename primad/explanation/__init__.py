"""What primad does with a function: costs before and after each family of laws, the plan, the time, a picture."""

from primad.explanation.report import Explanation, explain

__all__ = ["Explanation", "explain"]
