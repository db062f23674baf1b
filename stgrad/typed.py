"""What type checkers know of derivatives: the parameters of the function stay, whatever is derived from it. Nothing of it exists as a program runs.

`Derived[P, R]` is a function of the parameters P with a result R, and what stgrad adds to it. The result of `grad` has the structure of an argument, which
types cannot say: it is `Any`. That of `value_and_grad` is a pair with the function's own result in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from stgrad.explain import Explanation
    from stgrad.memory import MemoryReport

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Derived(Protocol[P, R_co]):
    """A derivative, or a compiled function: see `stgrad.transformed.Transformed`."""

    __name__: str

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    def source(self, *args: Any, **kwargs: Any) -> str: ...
    def lowered(self, *args: Any, **kwargs: Any) -> str: ...
    def path(self, *args: Any, **kwargs: Any) -> Path: ...
    def stages(self, *args: Any, **kwargs: Any) -> dict[str, str]: ...
    def explain(self, *args: Any, **kwargs: Any) -> Explanation: ...
    def memory(self, *args: Any, **kwargs: Any) -> MemoryReport: ...
    def compile(self, *args: Any, **kwargs: Any) -> Any: ...
    def dispatcher(self, *args: Any, **kwargs: Any) -> Any: ...
