#include "backends/cpu/caps/cpu_caps.hpp"

#include <cstring>

#include "backends/cpu/caps/bytes_caps.hpp"
#include "backends/cpu/caps/cortex_m_caps.hpp"
#include "backends/cpu/caps/in_place_caps.hpp"
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

  /// Our own fast kernels, for every processor of an operating system.
  void AppendVector() {
    Append(BytesCaps());
    Append(QuantizedCaps());
    Append(VectorCaps());
  }
};

Rows Compose() {
  Rows rows;
  rows.AppendVector();
#ifdef TENON_ONEDNN
  rows.Append(OnednnCaps());
#endif
  rows.Append(PortableCaps());
  rows.Append(InPlaceCaps());
  return rows;
}

bool Holds(Span<const KernelCaps> group, const KernelCaps& caps) {
  for (const KernelCaps& row : group) {
    if (std::strcmp(row.id, caps.id) == 0) return true;
  }
  return false;
}

}  // namespace

Span<const KernelCaps> Kernels() {
  static const Rows kRows = Compose();
  return {kRows.rows, kRows.count};
}

bool IsPortable(const KernelCaps& caps) {
  return Holds(PortableCaps(), caps) || Holds(InPlaceCaps(), caps);
}

Span<const KernelCaps> KernelsOfSet(const char* set) {
  if (std::strcmp(set, "vector") != 0) return CortexMCaps(set);
  static const Rows kRows = [] {
    Rows rows;
    rows.AppendVector();
    return rows;
  }();
  return {kRows.rows, kRows.count};
}

BackendCaps CpuCaps() { return {"cpu", Kernels(), IsPortable, KernelsOfSet}; }

}  // namespace tenon::cpu
