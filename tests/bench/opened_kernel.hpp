// One CPU kernel, loaded for one op as a plan would load it, so that benchmarks can run it.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "backends/cpu/caps/cpu_caps.hpp"
#include "backends/cpu/cpu_backend.hpp"
#include "tests/unit/backends/cpu/kernels/kernel_named.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"

namespace tenon::cpu {

using testing::KernelNamed;
using testing::Tensor;

/// Operands and attributes of one op; from input `constants_from` on they are
/// constants.
struct Subject {
  std::string name;
  std::vector<Tensor> inputs;
  std::vector<bool> present;  ///< of the inputs; empty: all are
  std::vector<Tensor> outputs;
  std::vector<int32_t> attributes;  // words
  size_t constants_from = 1;
  double work = 0.0;

  [[nodiscard]] size_t ConstantBytes() const {
    size_t bytes = 0;
    for (size_t i = constants_from; i < inputs.size(); ++i) {
      bytes += inputs[i].count() * static_cast<size_t>(DTypeBytes(inputs[i].dtype()));
    }
    return bytes;
  }
  /// The same values (of floats), the constants in memory of their own: copies of tensors share
  /// theirs.
  [[nodiscard]] Subject WithOwnConstants() const {
    Subject other = *this;
    for (size_t i = constants_from; i < inputs.size(); ++i) {
      other.inputs[i] = Tensor(inputs[i].dtype(), inputs[i].dims(), inputs[i].strides());
      other.inputs[i].Set(inputs[i].Values<float>());
    }
    return other;
  }
};

template <typename Attributes>
[[nodiscard]] std::vector<int32_t> Words(const Attributes& attributes) {
  std::vector<int32_t> words(sizeof attributes / sizeof(int32_t));
  std::memcpy(words.data(), &attributes, sizeof attributes);
  return words;
}

/// What a plan would reserve.
[[nodiscard]] inline size_t WorkspaceBytes(const KernelEntry& kernel, const OpCall& op,
                                           int threads) {
  const KernelCaps* caps = CapsNamed(kernel.id);
  return caps == nullptr || caps->workspace_bytes == nullptr ? 0
                                                             : caps->workspace_bytes(op, threads);
}

/// Views of the operands, and the call that refers to them.
class Call {
 public:
  Call(const Subject& subject, bool with_data) {
    for (size_t i = 0; i < subject.inputs.size(); ++i) {
      const bool is_present = subject.present.empty() || subject.present[i];
      inputs_.push_back(is_present ? static_cast<int32_t>(views_.size()) : -1);
      views_.push_back(subject.inputs[i].View(with_data || i >= subject.constants_from));
    }
    for (const Tensor& output : subject.outputs) {
      outputs_.push_back(static_cast<int32_t>(views_.size()));
      views_.push_back(output.View(with_data));
    }
    op.tensors = views_.data();
    op.input_ids = {inputs_.data(), inputs_.size()};
    op.output_ids = {outputs_.data(), outputs_.size()};
    op.attributes = subject.attributes.data();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  OpCall op;

 private:
  std::vector<TensorView> views_;
  std::vector<int32_t> inputs_;
  std::vector<int32_t> outputs_;
};

/// A kernel that was checked, loaded and opened for a subject, which must outlive it.
class OpenedKernel {
 public:
  OpenedKernel(const KernelEntry& kernel, const Subject& subject, int threads)
      : kernel_(kernel), description_(subject, /*with_data=*/false), operands_(subject, true) {
    workspace_.resize(WorkspaceBytes(kernel, description_.op, threads));
    const KernelSetup setup = {description_.op, workspace_.size(), threads};
    status_ = kernel.check(setup);
    if (status_.ok() && kernel.load != nullptr) status_ = kernel.load(setup, &shared_);
    if (status_.ok() && kernel.open != nullptr) status_ = kernel.open(setup, shared_, &session_);
  }
  OpenedKernel(const OpenedKernel&) = delete;
  OpenedKernel& operator=(const OpenedKernel&) = delete;
  ~OpenedKernel() {
    if (session_ != nullptr && kernel_.close != nullptr) kernel_.close(session_);
    if (shared_ != nullptr && kernel_.unload != nullptr) kernel_.unload(shared_);
  }

  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] Status Run(const ParallelRunner& runner) {
    KernelCall call;
    call.op = operands_.op;
    call.state = session_;
    call.workspace = workspace_.data();
    call.workspace_bytes = workspace_.size();
    call.parallel = &runner;
    return kernel_.run(call);
  }

 private:
  const KernelEntry& kernel_;
  Call description_;
  Call operands_;
  std::vector<uint8_t> workspace_;
  void* shared_ = nullptr;
  void* session_ = nullptr;
  Status status_;
};

}  // namespace tenon::cpu
