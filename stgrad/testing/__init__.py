"""Public checks: whether a rule, a gradient or a program is right."""

from stgrad import errors

from .gradients import GradientError, check_gradient
from .programs import ProgramError, check_program
from .rules import RuleError, check_rule

errors.refuse_inside(
    check_gradient, check_program, check_rule, reason="it makes programs, runs them and compares", hint="call it outside of the function"
)

__all__ = ["GradientError", "ProgramError", "RuleError", "check_gradient", "check_program", "check_rule"]
