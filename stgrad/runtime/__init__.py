"""What generated code calls. Every name works in plain Python and in compiled code."""

from stgrad.runtime.call import call_python
from stgrad.runtime.scalars import radd, vmax, vmin

__all__ = ["call_python", "radd", "vmax", "vmin"]
