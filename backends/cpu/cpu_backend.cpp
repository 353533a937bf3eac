#include "backends/cpu/cpu_backend.hpp"

#include "backends/cpu/kernels/f32/f32_table.hpp"
#include "backends/cpu/kernels/portable/portable_table.hpp"
#include "backends/cpu/kernels/q8/bytes_table.hpp"
#include "backends/cpu/kernels/q8/quantized_table.hpp"
#include "backends/cpu/kernels/thread_pool.hpp"
#ifdef TENON_ONEDNN
#include "backends/cpu/kernels/onednn/onednn_table.hpp"
#endif

namespace tenon::cpu {
namespace {

constexpr size_t kMostKernels = 128;

/// The kernels of every group, best first.
struct Table {
  const KernelEntry* kernels[kMostKernels] = {};
  size_t count = 0;

  void Append(const KernelList& group) {
    for (const KernelEntry& kernel : group) {
      if (count < kMostKernels) kernels[count++] = &kernel;
    }
  }
};

Table Compose() {
  Table table;
  table.Append(BytesKernels());
  table.Append(QuantizedKernels());
  table.Append(VectorKernels());
#ifdef TENON_ONEDNN
  table.Append(OnednnKernels());
#endif
  table.Append(PortableKernels());
  table.Append(PortableInPlaceKernels());
  return table;
}

}  // namespace

const Backend& CpuBackend() {
  static const Table kTable = Compose();
  static const Backend kBackend = {
      "cpu", {kTable.kernels, kTable.count}, MakeThreadPool, FreeThreadPool};
  return kBackend;
}

const Backend& CpuPortableBackend() {
  static const Table kTable = [] {
    Table table;
    table.Append(PortableKernels());
    table.Append(PortableInPlaceKernels());
    return table;
  }();
  static const Backend kBackend = {"cpu", {kTable.kernels, kTable.count}, nullptr, nullptr};
  return kBackend;
}

}  // namespace tenon::cpu
