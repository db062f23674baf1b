"""Random programs, differentiated and held against plain Python and differences.

A program is drawn by a seed (`generator`), checked (`oracle`), and made small where it is faulty (`shrink`); `python -m tests.fuzz` does so for minutes
in processes of their own (`runner`).
"""

from .generator import Draft, generate
from .oracle import GOOD, Mode, Outcome, check
from .shrink import shrink

__all__ = ["GOOD", "Draft", "Mode", "Outcome", "check", "generate", "shrink"]
