"""Plans made and compiled in a process of their own, of lower priority, so that the program that goes on keeps its interpreter to itself.

A thread that compiles would hold the interpreter's lock most of the time. The child gets the facts of a recording through a pipe, makes
the plan, leaves the native code in the cache directory, and sends back the text of the programs. Here they are then loaded from the
cache. Where there is no such process to be had, the plan is made here.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

from stgrad.calls import compilations
from stgrad.eager.background import worker
from stgrad.eager.plan import Plan, described, make_plan, plan_of, refusals
from stgrad.eager.statements import Facts

SECONDS = 900.0  # after which a plan is given up
_running: list[subprocess.Popen[bytes]] = []


class RefusedError(Exception):
    """The child could not make a plan; the text says why."""


def make_plan_aside(facts: Facts, refused: set[Any]) -> Plan:
    """What `make_plan` gives, with native code in the cache directory.

    Raises RefusedError where the compiler refuses, TimeoutExpired where it takes too long.
    """
    answer = _ask((facts, refused))
    if answer is None:
        return make_plan(facts, refused)
    steps, more, problem = answer
    refused |= more
    if problem is not None:
        raise RefusedError(problem)
    return plan_of(facts, steps)


def _ask(question: Any) -> Any:
    """What the child answers; None where it cannot be started or dies."""
    child = compilations.child("stgrad.eager.aside", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    if child is None:
        return None
    _running.append(child)
    worker.stop = _stop
    try:
        with worker.waiting():
            output, _ = child.communicate(pickle.dumps(question), timeout=SECONDS)
    finally:
        child.kill()
        child.wait()
        _running.remove(child)
    if worker.closed:
        raise RefusedError("the process ends")
    return pickle.loads(output) if child.returncode == 0 else None


def _stop() -> None:
    """End the child, if there is one."""
    for child in list(_running):
        child.kill()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_running.clear)


def main() -> None:
    """The child: from facts on its standard input to steps on its standard output."""
    answer_to = os.dup(1)
    os.dup2(2, 1)  # whatever prints, prints elsewhere
    compilations.give_way()
    facts, refused = pickle.load(sys.stdin.buffer)
    before = set(refused)
    steps: Any = []
    problem = None
    try:
        plan = make_plan(facts, refused)
        plan.compile()
        steps = described(plan)
    except refusals() as error:
        problem = f"{type(error).__name__}: {error}"
    with os.fdopen(answer_to, "wb") as pipe:
        pickle.dump((steps, refused - before, problem), pipe)


if __name__ == "__main__":
    main()
