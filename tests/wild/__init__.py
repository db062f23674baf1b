"""Code that others wrote: functions of packages on PyPI and of Numba's own tests, imported by name and differentiated as they are.

No code of theirs is in the tree. In this folder `python -m wild collect` draws functions and arguments by a rule that does not look at what stgrad
can do, and keeps in `cases.json` their names, how the arguments are drawn, and the derivatives by differences. In this folder `python -m wild run`
differentiates them with stgrad and tells what came of it. The packages, pinned in `requirements.txt`, belong in an environment of their own.
"""
