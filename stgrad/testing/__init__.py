"""Public checks: whether a rule, a gradient or a program is right."""

from .gradients import GradientError, check_gradient
from .programs import ProgramError, check_program
from .rules import RuleError, check_rule

__all__ = ["GradientError", "ProgramError", "RuleError", "check_gradient", "check_program", "check_rule"]
