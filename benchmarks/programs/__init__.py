"""The programs, one a file; each binds `PROGRAM`."""
