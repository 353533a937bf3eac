// Inputs and outputs whose integers stand for real numbers: (q - zero_point) * scale.
#pragma once

#include <string>

#include "sdk/tools/npy.hpp"

namespace tenon::tool {

[[nodiscard]] bool IsQuantized(const tenon_port_info& port);

/// " (scale 0.1, zero point -3)"; empty if the port is not quantized.
[[nodiscard]] std::string DescribeQuantization(const tenon_port_info& port);

/// What a quantized port's integer stands for; values of other ports as they are.
[[nodiscard]] double RealValue(const tenon_port_info& port, double value);

/// The nearest integers of the port's type to an array of floats: halves to even, as NumPy rounds,
/// and saturated. NaN gives the zero point.
[[nodiscard]] NpyArray QuantizeFor(const tenon_port_info& port, const NpyArray& floats);

}  // namespace tenon::tool
