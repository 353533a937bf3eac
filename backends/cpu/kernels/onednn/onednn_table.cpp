#include "backends/cpu/kernels/onednn/onednn_table.hpp"

#include "backends/cpu/kernels/onednn/kernels.hpp"
#include "backends/cpu/kernels/onednn/primitive.hpp"
#include "runtime/ops/rows.hpp"

namespace tenon::cpu {
namespace {

constexpr KernelEntry Entry(const char* id, const OpRow& row, Status (*check)(const KernelSetup&),
                            Status (*load)(const KernelSetup&, void**),
                            Status (*run)(const KernelCall&) = onednn::Execute) {
  return {
      id, &row, check, load, onednn::Open, run, onednn::Close, onednn::Unload, onednn::HeldBytes};
}

constexpr KernelEntry kKernels[] = {
    Entry("cpu.conv.onednn", kConvRow, onednn::ConvCheck, onednn::ConvLoad, onednn::ConvRun),
    Entry("cpu.conv.onednn_matmul", kConvRow, onednn::ConvMatMulCheck, onednn::ConvMatMulLoad),
    Entry("cpu.matmul.onednn", kMatMulRow, onednn::MatMulCheck, onednn::MatMulLoad),
    Entry("cpu.max_pool.onednn", kMaxPoolRow, onednn::MaxPoolCheck, onednn::MaxPoolLoad),
    Entry("cpu.average_pool.onednn", kAveragePoolRow, onednn::AveragePoolCheck,
          onednn::AveragePoolLoad),
    Entry("cpu.softmax.onednn", kSoftmaxRow, onednn::SoftmaxCheck, onednn::SoftmaxLoad),
    Entry("cpu.softmax.onednn_channels", kSoftmaxRow, onednn::ChannelSoftmaxCheck,
          onednn::SoftmaxLoad),
    Entry("cpu.lrn.onednn", kLrnRow, onednn::LrnCheck, onednn::LrnLoad),
};

}  // namespace

Span<const KernelEntry> OnednnKernels() { return kKernels; }

}  // namespace tenon::cpu
