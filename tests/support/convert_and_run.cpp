#include "tests/support/convert_and_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "backends/cpu/caps/cpu_caps.hpp"
#include "tests/support/target_runner.hpp"

namespace tenon::test {

namespace {

/// The kernels of the CPU that a target has: all but those of a library of this machine.
std::vector<BackendCaps> BackendsOfTarget() {
  static const std::vector<KernelCaps> kKernels = [] {
    std::vector<KernelCaps> kernels;
    for (const KernelCaps& caps : cpu::Kernels()) {
      if (std::strstr(caps.id, "onednn") == nullptr) kernels.push_back(caps);
    }
    return kernels;
  }();
  BackendCaps caps = cpu::CpuCaps();
  caps.kernels = {kKernels.data(), kKernels.size()};
  return {caps};
}

}  // namespace

converter::ConvertOptions OptionsFor(const std::string& board) {
  converter::ConvertOptions options;
  if (TargetRunner::Find() != nullptr) options.compile.kernels.backends = BackendsOfTarget();
  options.board = std::move(*converter::LoadBoard(board));
  return options;
}

std::vector<std::vector<std::byte>> RandomInputs(const converter::Graph& graph, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<std::byte>> inputs;
  for (const converter::Graph::Port& port : graph.inputs()) {
    const converter::Tensor& tensor = graph.tensor(port.tensor);
    std::vector<std::byte> bytes(static_cast<size_t>(tensor.ByteSize()));
    const auto size = static_cast<size_t>(DTypeBytes(tensor.dtype));
    for (size_t at = 0; at < bytes.size(); at += size) {
      if (tensor.dtype == DType::kF32) {
        const float value = static_cast<float>(random() % 2000) / 1000.0F - 1.0F;
        std::memcpy(bytes.data() + at, &value, size);
      } else {
        const uint64_t value = random() % (tensor.dtype == DType::kBool ? 2 : 8);
        std::memcpy(bytes.data() + at, &value, size);  // little-endian
      }
    }
    inputs.push_back(std::move(bytes));
  }
  return inputs;
}

double RelativeDifference(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 1e-30;
  double difference = 0;
  for (size_t at = 0; at + 4 <= a.size(); at += 4) {
    float x = 0;
    float y = 0;
    std::memcpy(&x, a.data() + at, 4);
    std::memcpy(&y, b.data() + at, 4);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (x == y) continue;
    largest = std::max(largest, std::abs(static_cast<double>(y)));
    difference = std::max(difference, std::abs(static_cast<double>(x) - static_cast<double>(y)));
    if (std::isnan(x) || std::isnan(y)) return INFINITY;
  }
  return difference / largest;
}

}  // namespace tenon::test
