"""The intermediate representation: statements (`core`), and walks over them (`walks`)."""

from stgrad.ir.core import (
    ALL as ALL,
)
from stgrad.ir.core import (
    BUILTIN_OPS as BUILTIN_OPS,
)
from stgrad.ir.core import (
    NONE as NONE,
)
from stgrad.ir.core import (
    Assign as Assign,
)
from stgrad.ir.core import (
    Block as Block,
)
from stgrad.ir.core import (
    Const as Const,
)
from stgrad.ir.core import (
    Custom as Custom,
)
from stgrad.ir.core import (
    Dim as Dim,
)
from stgrad.ir.core import (
    Effect as Effect,
)
from stgrad.ir.core import (
    For as For,
)
from stgrad.ir.core import (
    Function as Function,
)
from stgrad.ir.core import (
    If as If,
)
from stgrad.ir.core import (
    Loc as Loc,
)
from stgrad.ir.core import (
    Operand as Operand,
)
from stgrad.ir.core import (
    Pack as Pack,
)
from stgrad.ir.core import (
    Pop as Pop,
)
from stgrad.ir.core import (
    Push as Push,
)
from stgrad.ir.core import (
    Slice as Slice,
)
from stgrad.ir.core import (
    Stack as Stack,
)
from stgrad.ir.core import (
    Statement as Statement,
)
from stgrad.ir.core import (
    Stmt as Stmt,
)
from stgrad.ir.core import (
    Store as Store,
)
from stgrad.ir.core import (
    Type as Type,
)
from stgrad.ir.core import (
    Var as Var,
)
from stgrad.ir.core import (
    While as While,
)
from stgrad.ir.walks import (
    assigned as assigned,
)
from stgrad.ir.walks import (
    assigns as assigns,
)
from stgrad.ir.walks import (
    blocks as blocks,
)
from stgrad.ir.walks import (
    certain as certain,
)
from stgrad.ir.walks import (
    changed as changed,
)
from stgrad.ir.walks import (
    entries_of as entries_of,
)
from stgrad.ir.walks import (
    exposed as exposed,
)
from stgrad.ir.walks import (
    gathers as gathers,
)
from stgrad.ir.walks import (
    map_all as map_all,
)
from stgrad.ir.walks import (
    map_blocks as map_blocks,
)
from stgrad.ir.walks import (
    map_operand as map_operand,
)
from stgrad.ir.walks import (
    map_operands as map_operands,
)
from stgrad.ir.walks import (
    operand_vars as operand_vars,
)
from stgrad.ir.walks import (
    operands as operands,
)
from stgrad.ir.walks import (
    raises as raises,
)
from stgrad.ir.walks import (
    read as read,
)
from stgrad.ir.walks import (
    reads as reads,
)
from stgrad.ir.walks import (
    rename as rename,
)
from stgrad.ir.walks import (
    rule_binds as rule_binds,
)
from stgrad.ir.walks import (
    rule_reads as rule_reads,
)
from stgrad.ir.walks import (
    runs_once as runs_once,
)
from stgrad.ir.walks import (
    stored as stored,
)
from stgrad.ir.walks import (
    walk as walk,
)
