"""Public checks: whether a rule, a gradient or a program is right."""

from .gradients import GradientError, check_gradient
from .rules import RuleError, check_rule

__all__ = ["GradientError", "RuleError", "check_gradient", "check_rule"]
