#!/usr/bin/env python3
"""Prints backends/cpu/kernels/f32/simd/function_tables.hpp: functions of the vector kernels as
polynomials of 32 cells.

A function f of a magnitude m >= 0 falls from 1/2 towards 0. Cell k holds the m that are nearest to
k / cells; there f(m) is a polynomial of cells * m - k, found by Lawson's iteration (C. L. Lawson,
"Contributions to the theory of linear least maximum approximations", 1961) for the least relative
error. Wants NumPy. Usage: scripts/make_function_tables.py > FILE, then clang-format."""
import math

import numpy as np

CELLS = 32


def normal_tail(m):
    return 0.5 * math.erfc(m / math.sqrt(2))


def logistic_tail(m):
    return 1 / (1 + math.exp(m))


def gelu_tanh_tail(m):
    return logistic_tail(2 * math.sqrt(2 / math.pi) * (m + 0.044715 * m**3))


# Name, what it is, function, cells for each unit of m, degree.
TABLES = (
    ("kNormalTail", "The normal distribution function of -m.", normal_tail, 5.0, 6),
    ("kLogisticTail", "1 / (1 + exp(m)).", logistic_tail, 1.75, 5),
    ("kGeluTanhTail", "1 / (1 + exp(2 sqrt(2 / pi) (m + 0.044715 m^3))).", gelu_tanh_tail, 5.0, 6),
)


def fit(function, cells, degree, k):
    """Coefficients of cell k, lowest first, and their largest relative error."""
    count = 400
    rest = np.cos(np.pi * (np.arange(count) + 0.5) / count) / 2
    rest = rest[rest >= -k]  # m >= 0
    values = np.array([function((k + r) / cells) for r in rest])
    matrix = np.vander(rest, degree + 1, increasing=True) / values[:, None]
    weights = np.ones(len(rest))
    for _ in range(60):
        root = np.sqrt(weights)
        coefficients = np.linalg.lstsq(matrix * root[:, None], root, rcond=None)[0]
        errors = np.abs(matrix @ coefficients - 1)
        weights *= errors + 1e-300
        weights /= weights.sum()
    return coefficients, errors.max()


def number(value):
    text = f"{np.float32(value):.9g}"
    return text + ("F" if "." in text or "e" in text else ".0F")


def main():
    print("// Functions as polynomials of 32 cells each. Made by scripts/make_function_tables.py.")
    print("#pragma once\n")
    print("namespace tenon::cpu::f32 {\n")
    print("/// Row i has the coefficients of the i-th power, one for each cell: cell k is of the m that are")
    print("/// nearest to k / cells_per_unit, the variable cells_per_unit * m - k.")
    print("template <int kRows>\nstruct FunctionTable {")
    print("  float cells_per_unit;\n  float last;  ///< the largest m\n  alignas(64) float rows[kRows][32];\n};")
    for name, what, function, cells, degree in TABLES:
        fits = [fit(function, cells, degree, k) for k in range(CELLS)]
        worst = max(error for _, error in fits)
        print(f"\n/// {what} Its relative error is {worst:.0e} at most.")
        print(f"inline constexpr FunctionTable<{degree + 1}> {name} = {{")
        print(f"    {number(cells)}, {number((CELLS - 0.5625) / cells)}, {{")
        rows = (", ".join(number(c[power]) for c, _ in fits) for power in range(degree + 1))
        print(",\n".join("{" + row + "}" for row in rows) + "}};")
    print("\n}  // namespace tenon::cpu::f32")


main()
