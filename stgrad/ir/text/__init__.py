"""The IR as text, and back: `dump(fn)` writes a program, `parse(text)` reads it again.

    def f(x: float64['n'], a: float):
        t: float64['n'] = a * x
        s: float = np.sum(t, axis=None)
        if s > 0.0: ...

The text is made of Python's syntax, but it says what the IR holds, one statement to a line, and does not run. Operators stand for the operation that
the table gives their symbol first, `y = x` for `alias`, `y = x[i]` for `getitem`; what is left is called by its name, in quotes where that is
no dotted name. The type of a name stands where it is bound first (`float`, `int`: Python's own numbers, which are weak; `float64['n' + 1]`: an array;
`int('n')`: an integer with the value of a symbol). A string in a line of its own is the note of the statement below it.

`parse(dump(fn))` equals `fn`, and `dump` gives the same text again, but for places in the user's file, which the text leaves out, and for
captured arrays, which it only names. What has no text (an operand of a foreign class) is shown in `<...>`, which is no program.
"""

from stgrad.ir.text.reading import parse as parse
from stgrad.ir.text.writing import dump as dump
from stgrad.ir.text.writing import dump_statement as dump_statement
