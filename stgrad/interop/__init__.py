"""Derivatives for other packages: one small module for each, imported by the user alone. `stgrad.interop.scipy` needs nothing more than stgrad does."""
