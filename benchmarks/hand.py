"""How the adjoints written by hand are compiled: what an expert switches on."""

import numba

strict = numba.njit(error_model="numpy", nogil=True, cache=True)
by_hand = numba.njit(error_model="numpy", nogil=True, fastmath={"reassoc", "nsz"}, cache=True)  # sums may be reordered
