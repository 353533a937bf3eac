#include "backends/cpu/kernels/onednn/onednn_table.hpp"

#include "backends/cpu/caps/onednn_caps.hpp"
#include "backends/cpu/kernels/onednn/kernels.hpp"
#include "backends/cpu/kernels/onednn/primitive.hpp"
#include "runtime/ops/rows.hpp"

namespace tenon::cpu {
namespace {

constexpr KernelEntry Entry(const char* id, const OpRow& row, Status (*check)(const KernelSetup&),
                            Status (*load)(const KernelSetup&, void**),
                            void (*packing_key)(const OpCall&, PackingKey*),
                            Status (*run)(const KernelCall&) = onednn::Execute) {
  return {id,
          &row,
          check,
          load,
          onednn::Open,
          run,
          onednn::Close,
          onednn::Unload,
          onednn::HeldBytes,
          packing_key};
}

constexpr KernelEntry kKernels[] = {
    Entry("cpu.conv.onednn", kConvRow, onednn::ConvCheck, onednn::ConvLoad,
          onednn::AddPackingKey<ConvAttributes>, onednn::ConvRun),
    Entry("cpu.conv.onednn_matmul", kConvRow, onednn::ConvMatMulCheck, onednn::ConvMatMulLoad,
          onednn::AddPackingKey<ConvAttributes>),
    Entry("cpu.matmul.onednn", kMatMulRow, onednn::MatMulCheck, onednn::MatMulLoad,
          onednn::AddPackingKey<MatMulAttributes>),
    Entry("cpu.max_pool.onednn", kMaxPoolRow, onednn::MaxPoolCheck, onednn::MaxPoolLoad,
          onednn::AddPackingKey<PoolAttributes>),
    Entry("cpu.average_pool.onednn", kAveragePoolRow, onednn::AveragePoolCheck,
          onednn::AveragePoolLoad, onednn::AddPackingKey<PoolAttributes>),
    Entry("cpu.softmax.onednn", kSoftmaxRow, onednn::SoftmaxCheck, onednn::SoftmaxLoad,
          onednn::AddPackingKey<SoftmaxAttributes>),
    Entry("cpu.softmax.onednn_channels", kSoftmaxRow, onednn::ChannelSoftmaxCheck,
          onednn::SoftmaxLoad, onednn::AddPackingKey<SoftmaxAttributes>),
    Entry("cpu.lrn.onednn", kLrnRow, onednn::LrnCheck, onednn::LrnLoad,
          onednn::AddPackingKey<LrnAttributes>),
};

}  // namespace

KernelList OnednnKernels() { return {kKernels, sizeof kKernels / sizeof *kKernels}; }

}  // namespace tenon::cpu
