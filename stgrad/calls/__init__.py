"""Between callers and compiled code: arguments read and tested, programs found again, results given the structure that the caller expects."""
