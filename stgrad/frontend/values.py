"""The values of the front end, under the name that its files know them by."""

from stgrad.values import (
    UNDEFINED,
    Chosen,
    Closure,
    DictView,
    Generator,
    Growing,
    Known,
    Listed,
    Maybe,
    Method,
    Nested,
    Optional,
    Record,
    Sym,
    Undefined,
    Value,
    Waiting,
    a_kind,
    is_constant,
    is_derived,
    is_number,
    is_static,
    leaves,
    map_leaves,
    operand_of,
    rebuild,
    scalar_type,
    static_of,
    type_of,
)

__all__ = [
    "UNDEFINED", "Chosen", "Closure", "DictView", "Generator", "Growing", "Known", "Listed", "Maybe", "Method", "Nested", "Optional", "Record", "Sym",
    "Undefined", "Value", "Waiting",
    "a_kind", "is_constant", "is_derived", "is_number", "is_static", "leaves", "map_leaves", "operand_of", "rebuild", "scalar_type", "static_of", "type_of",
]  # fmt: skip
