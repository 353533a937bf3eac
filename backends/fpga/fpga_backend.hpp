// The FPGA backend: an accelerator behind XRT that runs whole segments by code.
#pragma once

#include "runtime/backend_api/backend.hpp"

namespace tenon::fpga {

/// Returns the backend, whose name is "fpga". It has no kernels: a segment is one start. A process
/// has one accelerator for itself, which its plans share.
/// Environment variables (read when a plan is loaded):
///   TENON_FPGA_DEVICE     index or BDF ("0000:03:00.1") of the device; 0 by default
///   TENON_FPGA_XCLBIN     path of the image; by default share/tenon/accelerator.xclbin under
///                         XILINX_XRT, the folder that XRT's own libraries are looked for in
///   TENON_FPGA_TIMEOUT_S  seconds after which a start counts as stuck, whatever a run's deadline;
///                         120 by default
[[nodiscard]] const Backend& FpgaBackend();

}  // namespace tenon::fpga
