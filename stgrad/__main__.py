"""`python -m stgrad`."""

from stgrad.cli import main

main()
