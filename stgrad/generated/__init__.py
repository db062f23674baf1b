"""Where generated modules live: `stgrad.generated.<name>_<key>` is a file of the cache directory.

Ordinary imports find them through `__path__`, so a pickled function of one process loads in another.
"""

from stgrad.cache import directory

__path__ = [str(directory())]
