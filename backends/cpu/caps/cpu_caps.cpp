#include "backends/cpu/caps/cpu_caps.hpp"

#include <cstring>

#include "backends/cpu/caps/bytes_caps.hpp"
#include "backends/cpu/caps/cortex_m_caps.hpp"
#include "backends/cpu/caps/portable_caps.hpp"
#include "backends/cpu/caps/quantized_caps.hpp"
#include "backends/cpu/caps/vector_caps.hpp"
#ifdef TENON_ONEDNN
#include "backends/cpu/caps/onednn_caps.hpp"
#endif

namespace tenon::cpu {
namespace {

constexpr size_t kMostRows = 128;

/// The rows of every group of kernels, best first.
struct Rows {
  KernelCaps rows[kMostRows] = {};
  size_t count = 0;

  void Append(Span<const KernelCaps> group) {
    for (const KernelCaps& caps : group) {
      if (count < kMostRows) rows[count++] = caps;
    }
  }
};

Rows Compose() {
  Rows rows;
  rows.Append(BytesCaps());
  rows.Append(QuantizedCaps());
  rows.Append(VectorCaps());
#ifdef TENON_ONEDNN
  rows.Append(OnednnCaps());
#endif
  rows.Append(PortableCaps());
  return rows;
}

}  // namespace

Span<const KernelCaps> Kernels() {
  static const Rows kRows = Compose();
  return {kRows.rows, kRows.count};
}

bool IsPortable(const KernelCaps& caps) {
  for (const KernelCaps& portable : PortableCaps()) {
    if (std::strcmp(portable.id, caps.id) == 0) return true;
  }
  return false;
}

BackendCaps CpuCaps() { return {"cpu", Kernels(), IsPortable, CortexMCaps}; }

}  // namespace tenon::cpu
