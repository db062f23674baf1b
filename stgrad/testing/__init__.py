"""Public checks: whether a rule, a gradient or a program is right."""

from .rules import RuleError, check_rule

__all__ = ["RuleError", "check_rule"]
