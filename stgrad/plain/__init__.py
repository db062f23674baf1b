"""The last resort: programs that the compiler does not take, recorded while they run in plain Python."""

from stgrad.plain.running import Recorded, recorded, run

__all__ = ["Recorded", "recorded", "run"]
