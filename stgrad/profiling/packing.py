"""Which loops LLVM packed: what it left of each region, between the marks of its clocks, works on vectors or on single numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stgrad.runtime.clock import MARK

_LABEL = re.compile(r'^("[^"]+"|[-\w.$]+):')
_NEXT = re.compile(r'label %("[^"]+"|[-\w.$]+)')
_MARK = re.compile(re.escape(f'"{MARK}"(i64 ') + r"(\d+)\)")
_VECTOR = re.compile(r"= (?:load|fadd|fmul|fsub|fdiv|fneg|f?cmp|add|mul|call|shl|and|or|xor|select)\b.*<(?:vscale x )?\d+ x (?:double|float|i64|i32|i16|i8)>")
Blocks = dict[str, list[str]]


def packed(llvm: str, regions: int) -> list[str]:
    """For each region 'yes', 'no', or 'unknown' where nothing in it repeats, or its code is elsewhere.

    Args:
        llvm: the optimised text of the module.
        regions: how many there are; region k stands between the marks 2 k and 2 k + 1.
    """
    found = ["unknown"] * regions
    for body in _functions(llvm):
        blocks = _blocks(body)
        for name, lines in blocks.items():
            for i, line in enumerate(lines):
                mark = _MARK.search(line)
                if mark and not int(mark[1]) % 2 and int(mark[1]) // 2 < regions:
                    found[int(mark[1]) // 2] = _said(blocks, name, i, f'"{MARK}"(i64 {int(mark[1]) + 1})')
    return found


def _functions(llvm: str) -> Iterator[list[str]]:
    body: list[str] = []
    for line in llvm.splitlines():
        if line.startswith("define "):
            body = []
        elif line.startswith("}"):
            yield body
        else:
            body.append(line)


def _blocks(body: list[str]) -> Blocks:
    blocks: Blocks = {"": []}
    name = ""
    for line in body:
        label = _LABEL.match(line)
        if label:
            name = label[1]
            blocks[name] = []
        else:
            blocks[name].append(line)
    return blocks


def _said(blocks: Blocks, first: str, at: int, end: str) -> str:
    """What is between a mark and its end: the blocks that repeat, and whether one has vectors."""
    inside: dict[str, list[str]] = {}
    todo = [] if any(end in line for line in blocks[first][at:]) else _after(blocks[first])
    while todo:
        name = todo.pop()
        if name in inside or name not in blocks or name == first:
            continue
        lines = blocks[name]
        ended = any(end in line for line in lines)
        inside[name] = [] if ended else lines
        if not ended:
            todo += _after(lines)
    loops = [name for name in inside if _repeats(name, inside)]
    if not loops:
        return "unknown"
    return "yes" if any(_VECTOR.search(line) for name in loops for line in inside[name]) else "no"


def _after(lines: list[str]) -> list[str]:
    return [name for line in lines for name in _NEXT.findall(line)]


def _repeats(name: str, inside: Blocks) -> bool:
    """Whether a block leads to itself."""
    seen: set[str] = set()
    todo = _after(inside[name])
    while todo:
        reached = todo.pop()
        if reached == name:
            return True
        if reached in inside and reached not in seen:
            seen.add(reached)
            todo += _after(inside[reached])
    return False
