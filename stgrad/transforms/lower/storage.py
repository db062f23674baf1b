from stgrad.ir import Function


def storage(fn: Function) -> Function:
    return fn
