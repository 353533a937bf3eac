// Tensors of a plan as NumPy arrays: nothing is copied in either direction.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "tenon/tenon.h"

namespace tenon::python {

/// The NumPy type of a tensor's elements. NumPy has no bfloat16: its bits come as uint16.
[[nodiscard]] pybind11::dtype DtypeOf(tenon_dtype dtype);

/// A new array, not initialised, for port `info`.
[[nodiscard]] pybind11::array NewArray(const tenon_port_info& info);

/// Memory of a session as an array that keeps `owner` alive.
[[nodiscard]] pybind11::array View(const tenon_port_info& info, const void* data,
                                   pybind11::handle owner, bool writable);

/// `object` as an array that can be used where it lies. Throws TypeError (no array, another type)
/// or ValueError (another shape, not contiguous, not aligned, read-only where it is written) with
/// words that name the port.
[[nodiscard]] pybind11::array Checked(const tenon_port_info& info, pybind11::handle object,
                                      bool writable);

/// The arrays for all of `ports`, in their order: from a mapping by name, a sequence, or for a plan
/// of one port the array itself.
[[nodiscard]] std::vector<pybind11::array> Gather(const std::vector<tenon_port_info>& ports,
                                                  pybind11::handle arrays, bool writable,
                                                  const char* what);

/// Throws ValueError where an output's memory is that of an input or of another output.
void RequireApart(const std::vector<pybind11::array>& inputs,
                  const std::vector<pybind11::array>& outputs);

}  // namespace tenon::python
