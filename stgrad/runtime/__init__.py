"""What generated code calls. Every name works in plain Python and in compiled code."""

from stgrad.runtime.call import call_python

__all__ = ["call_python"]
