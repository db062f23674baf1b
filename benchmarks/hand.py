"""How the adjoints written by hand are compiled: what an expert switches on, reassociated sums included."""

import numba

by_hand = numba.njit(error_model="numpy", nogil=True, fastmath={"reassoc", "nsz"}, cache=True)
