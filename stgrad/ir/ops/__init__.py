"""The table of operations: the one place that says what each operation does."""

from __future__ import annotations

from stgrad.ir.ops import arrays as arrays
from stgrad.ir.ops.core import TABLE as TABLE
from stgrad.ir.ops.core import Operation as Operation
from stgrad.ir.ops.core import operation as operation
from stgrad.ir.ops.numbers import FUNCTION as FUNCTION
from stgrad.ir.ops.numbers import IN_TURN as IN_TURN
from stgrad.ir.ops.numbers import MODES as MODES
from stgrad.ir.ops.reading import adds_zeros as adds_zeros
from stgrad.ir.ops.reading import contents as contents
from stgrad.ir.ops.reading import counts_from as counts_from
from stgrad.ir.ops.reading import hands_on_at_most as hands_on_at_most
from stgrad.ir.ops.reading import makes_an_object as makes_an_object
from stgrad.ir.ops.reading import may_view as may_view
from stgrad.ir.ops.reading import read_operands as read_operands
from stgrad.ir.ops.reading import readonly as readonly
from stgrad.ir.ops.reading import sources as sources
from stgrad.ir.ops.reading import viewed as viewed
