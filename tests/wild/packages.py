"""Which packages and which of their functions: the rule, and the lists that it starts from.

A package is chosen because people of its field write loops or formulas in Numba or NumPy; of each at most ten functions are drawn by lot from those
that run on drawn floats and have a derivative there. Numba's own tests give `OF_NUMBA` from each file. A third of all is held out: by a
hash of the name, so that it stays the same when others join.
"""

from __future__ import annotations

import hashlib

EACH = 10
OF_NUMBA = 40
SCIPY = (
    "scipy.optimize._lsq.common", "scipy.optimize._linesearch", "scipy.integrate._ivp.common", "scipy.interpolate._cubic", "scipy.signal._peak_finding_utils",
    "scipy.spatial.distance", "scipy.stats._stats_py", "scipy.special._basic", "scipy.signal._waveforms", "scipy.signal.windows._windows",
    "scipy.linalg._special_matrices", "scipy.optimize._optimize", "scipy.stats._entropy", "scipy.constants._constants",
)  # fmt: skip

# What each field imports; the names under which PyPI has them are in requirements.txt.
FIELDS: dict[str, tuple[str, ...]] = {
    "astrodynamics": ("hapsira", "sgp4", "lamberthub", "skyfield", "pyorbital", "PyAstronomy", "pymeeus"),
    "thermodynamics": ("fluids", "chemicals", "ht", "iapws", "pyXSteam", "chempy", "ambiance"),
    "optics": ("miepython", "prysm", "tmm", "colorspacious", "colour", "pypolar"),
    "statistics": ("pingouin", "numba_stats", "lmfit", "trueskill", "statsmodels", "hyppo", "dcor"),
    "econometrics": ("arch", "interpolation", "consav"),
    "finance": ("empyrical", "numpy_financial", "vollib", "pysabr"),
    "filtering": ("filterpy", "pykalman", "padasip"),
    "geodesy": ("pymap3d", "utm", "haversine", "nvector", "pygeodesy"),
    "energy": ("pvlib", "windpowerlib", "pysolar"),
    "weather": ("thermofeel", "pythermalcomfort", "pyet", "hydroeval", "refet"),
    "time series": ("tslearn", "stumpy", "antropy", "dtaidistance", "aeon", "coreforecast", "fastdtw", "pyts"),
    "distances": ("umap", "pynndescent"),
    "audio": ("ssqueezepy", "mosqito"),
    "mechanics": ("fatpack", "transforms3d", "rowan", "clifford", "vector"),
    "calendars": ("astral",),
    "fuzzy logic": ("skfuzzy",),
    "optimisation": ("opfunu", "landscapes", "pyswarms"),
    "geophysics": ("choclo", "lmoments3", "empymod"),
    "attitude": ("ahrs",),
    "fields": ("magpylib", "lenstronomy"),
    "control": ("control",),
    "economics": ("quantecon", "sequence_jacobian", "HARK"),
    "pricing": ("financepy",),
    "music": ("librosa", "resampy", "pyloudnorm"),
    "seismology": ("disba", "eqsig", "bruges"),
    "geostatistics": ("skgstat",),
    "hydrology": ("pastas", "pyflwdir", "hydrostats", "HydroErr", "pymannkendall"),
    "oceanography": ("seawater", "utide"),
    "robotics": ("pytransform3d", "spatialmath", "modern_robotics"),
    "dynamical systems": ("EntropyHub", "ordpy"),
    "curves": ("similaritymeasures", "geomdl", "splines"),
    "neuroscience": ("neurodsp",),
    "ratings": ("openskill", "glicko2"),
    "rotations": ("quaternionic", "spherical"),
    "geodesics": ("geographiclib",),
    "aggregation": ("numbagg",),
    "reliability": ("reliability",),
    "transport": ("ot",),
    "spectra": ("pybaselines",),
    "psychometrics": ("girth",),
    "quantum": ("thewalrus", "toqito"),
    "games": ("nashpy", "opensimplex"),
    "power": ("pypower",),
    "sensitivity": ("SALib",),
    "images": ("pymatting", "sewar"),
    "survival": ("lifelines",),
    "chemistry": ("rmsd",),
    "flight": ("openap",),
    "rates": ("nelson_siegel_svensson", "pyfeng"),
    "forecasts": ("scoringrules",),
    "electromagnetics": ("geoana",),
    "cosmology": ("colossus", "pytransit"),
    "acoustics": ("acoustic_toolbox", "pyfar"),
    "adaptive optics": ("aotools",),
    "minerals": ("burnman",),
    "equations of state": ("thermo",),
    "life contingencies": ("actuarialmath",),
    "epidemiology": ("zepid",),
    "pictures": ("skimage",),
    "wind farms": ("floris",),
    "scattering": ("refnx",),
    "calibration": ("spotpy",),
    "communications": ("sk_dsp_comm",),
    "magnetic resonance": ("sigpy",),
    "plants": ("pyrealm",),
    "structures": ("Pynite",),
}
# Functions whose results are no functions of their arguments: they have no derivative that could be right.
WITHOUT_A_VALUE: dict[str, str] = {
    "burnman.tools.solution:_subregular_matrix_conversion": "rounds to 12 digits: constant between its jumps, which differences do not see",
    "mosqito.sq_metrics.tonality.tone_to_noise_ecma._spectrum_smoothing:_spectrum_smoothing": "returns items of np.empty that it never writes",
    "sequence_jacobian.utilities.misc:list_diff": "returns the items of a set of floats, in the order of their hashes",
}
NUMBA = tuple(
    f"numba.tests.{name}"
    for name in (
        "usecases", "complex_usecases", "test_array_exprs", "test_array_methods", "test_np_functions", "test_linalg",
        "test_indexing", "test_fancy_indexing", "test_parfors", "test_stencils", "test_jitclasses",
        "test_typedlist", "test_dictobject", "test_array_reductions", "test_array_manipulation", "test_mathlib", "test_operators", "test_tuples",
        "test_polynomial", "test_array_iterators", "test_try_except", "test_heapq", "test_closure", "test_optional", "test_lists", "test_ufuncs",
        "test_comprehension", "test_slices", "test_inlining", "test_analysis",
    )
)  # fmt: skip


def field_of(name: str) -> str:
    """The field of an importable name; `numba` and `scipy` are fields of their own."""
    top = name.split(".")[0]
    return next((field for field, names in FIELDS.items() if top in names), top)


def held_out(target: str) -> bool:
    """Whether a function belongs to the third that is not looked at."""
    return hashlib.sha256(f"wild {target}".encode()).digest()[0] % 3 == 0


def sources() -> dict[str, int]:
    """Each importable name, and how many functions are drawn from it."""
    packages = {name: EACH for names in FIELDS.values() for name in names}
    return {**packages, **dict.fromkeys(SCIPY, EACH), **dict.fromkeys(NUMBA, OF_NUMBA)}
