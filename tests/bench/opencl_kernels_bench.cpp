// Speed of the OpenCL kernels for convolutions and matrix products, by shape class, beside the CPU
// backend's kernels: opencl_kernels_bench [--threads N] [--peak GFLOPS] [--rounds N]
// [--processor-time] [PART_OF_NAME]
//
// All contenders of a shape take turns and the least time of each counts, so that a machine that is
// shared with other work disturbs all alike; --processor-time counts the seconds that the process
// has worked, which on one thread of a CPU leaves out what others took (and waiting). A
// multiply-accumulate is two operations; Winograd's way, which needs fewer, can pass 100 %. Without
// --peak, the peak is that of one core of this processor times the threads, measured with fused
// multiply-adds in registers.
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/caps/cpu_caps.hpp"
#include "backends/cpu/cpu_backend.hpp"
#include "backends/opencl/caps/opencl_caps.hpp"
#include "backends/opencl/opencl_backend.hpp"
#include "runtime/ops/attributes.hpp"
#include "tests/bench/peak_flops.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"
#ifdef TENON_HAS_ONEDNN
#include "backends/cpu/kernels/onednn/onednn_table.hpp"
#endif

namespace tenon {
namespace {

using cpu::testing::Layout;
using cpu::testing::Random;
using cpu::testing::Tensor;

bool use_processor_time = false;

/// Seconds: of the clock, or those that all threads of this process have worked.
double Now() {
  timespec now{};
  clock_gettime(use_processor_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

[[noreturn]] void Fail(const std::string& what, const Status& status) {
  char text[512];
  status.Format(text);
  std::fprintf(stderr, "%s: %s\n", what.c_str(), text);
  std::exit(1);
}

void Require(const std::string& what, const Status& status) {
  if (!status.ok()) Fail(what, status);
}

/// Operands and attributes of one op.
struct Subject {
  std::string name;
  OpKind kind = OpKind::kConv;
  std::vector<Tensor> inputs;
  std::vector<bool> constant;
  std::vector<Tensor> outputs;
  std::vector<int32_t> attributes;  // words
  double work = 0.0;

  void Add(const Tensor& tensor, bool is_constant) {
    inputs.push_back(tensor);
    constant.push_back(is_constant);
  }
};

template <typename Attributes>
std::vector<int32_t> Words(const Attributes& attributes) {
  std::vector<int32_t> words(sizeof attributes / sizeof(int32_t));
  std::memcpy(words.data(), &attributes, sizeof attributes);
  return words;
}

/// One kernel ready to run a subject, with operands in one arena.
class Runner {
 public:
  Runner(const Backend& backend, const KernelEntry& kernel, const KernelCaps& caps,
         const Subject& subject, int threads, void* device)
      : backend_(backend), kernel_(kernel), subject_(subject), device_(device) {
    if (backend.make_runner != nullptr) parallel_ = backend.make_runner(threads);
    PlaceOperands();
    KernelSetup setup;
    setup.op = Call(false);
    setup.threads = threads;
    setup.device = device;
    if (caps.workspace_bytes != nullptr) {
      workspace_bytes_ = caps.workspace_bytes(setup.op, threads);
    }
    workspace_ = arena_bytes_;
    arena_bytes_ += workspace_bytes_ + kAlignment;
    FillArena();
    setup.workspace_bytes = workspace_bytes_;
    if (backend.device != nullptr) {
      const ArenaMemory memory = {arena_, arena_bytes_};
      Require(kernel.id, backend.device->open_queue(device, {&memory, 1}, &queue_));
      setup.queue = queue_;
    }
    Require(kernel.id, kernel.check(setup));
    if (kernel.load != nullptr) Require(kernel.id, kernel.load(setup, &shared_));
    if (kernel.open != nullptr) Require(kernel.id, kernel.open(setup, shared_, &state_));
    const double begin = Now();
    Run(1);
    first_seconds_ = Now() - begin;
  }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  ~Runner() {
    if (kernel_.close != nullptr && state_ != nullptr) kernel_.close(state_);
    if (kernel_.unload != nullptr && shared_ != nullptr) kernel_.unload(shared_);
    if (queue_ != nullptr) backend_.device->close_queue(queue_);
    if (backend_.free_runner != nullptr) backend_.free_runner(parallel_);
  }

  void Run(int times) {
    KernelCall call;
    call.op = Call(true);
    call.workspace = arena_ + workspace_;
    call.workspace_bytes = workspace_bytes_;
    call.state = state_;
    call.parallel = &parallel_;
    call.queue = queue_;
    for (int i = 0; i < times; ++i) Require(kernel_.id, kernel_.run(call));
    if (queue_ != nullptr) {
      Require(kernel_.id, backend_.device->submit(queue_));
      Require(kernel_.id, backend_.device->drain(queue_, kNoDeadline));
    }
  }

  /// Least seconds of a run so far, after one more round.
  double Round() {
    constexpr double kRoundSeconds = 0.0015;
    Run(times_ / 4 + 1);  // the others' operands leave the caches, its own come
    const double begin = Now();
    Run(times_);
    const double seconds = Now() - begin;
    best_ = std::min(best_, seconds / times_);
    times_ = std::clamp(static_cast<int>(kRoundSeconds / best_), 1, 1000);
    return best_;
  }
  [[nodiscard]] double best() const { return best_; }
  [[nodiscard]] double first_seconds() const { return first_seconds_; }
  [[nodiscard]] const char* id() const { return kernel_.id; }

 private:
  static constexpr size_t kAlignment = 4096;  // as the engine's arenas

  [[nodiscard]] std::vector<const Tensor*> Operands() const {
    std::vector<const Tensor*> all;
    for (const Tensor& tensor : subject_.inputs) all.push_back(&tensor);
    for (const Tensor& tensor : subject_.outputs) all.push_back(&tensor);
    return all;
  }

  void PlaceOperands() {
    for (const Tensor* tensor : Operands()) {
      offsets_.push_back(arena_bytes_);
      arena_bytes_ += (tensor->count() * sizeof(float) + 127) / 64 * 64;
    }
  }

  void FillArena() {
    memory_.resize(arena_bytes_ + kAlignment);
    const auto begin = reinterpret_cast<uintptr_t>(memory_.data());
    arena_ = memory_.data() + (kAlignment - begin % kAlignment);
    const std::vector<const Tensor*> operands = Operands();
    for (size_t i = 0; i < operands.size(); ++i) {
      const std::vector<float> values = operands[i]->Values<float>();
      auto* to = reinterpret_cast<float*>(arena_ + offsets_[i]);
      for (size_t k = 0; k < values.size(); ++k) to[operands[i]->OffsetOf(k)] = values[k];
    }
  }

  OpCall Call(bool with_data) {
    views_.clear();
    inputs_.clear();
    outputs_.clear();
    for (size_t i = 0; i < offsets_.size(); ++i) {
      const bool is_input = i < subject_.inputs.size();
      const bool is_constant = is_input && subject_.constant[i];
      const Tensor& tensor =
          is_input ? subject_.inputs[i] : subject_.outputs[i - subject_.inputs.size()];
      TensorView view = tensor.View(is_constant);
      if (with_data && !is_constant) view.data = arena_ + offsets_[i];
      views_.push_back(view);
      (is_input ? inputs_ : outputs_).push_back(static_cast<int32_t>(i));
    }
    OpCall call;
    call.tensors = views_.data();
    call.input_ids = {inputs_.data(), inputs_.size()};
    call.output_ids = {outputs_.data(), outputs_.size()};
    call.attributes = subject_.attributes.data();
    return call;
  }

  const Backend& backend_;
  const KernelEntry& kernel_;
  const Subject& subject_;
  void* device_;
  ParallelRunner parallel_;
  std::vector<uint8_t> memory_;
  uint8_t* arena_ = nullptr;
  size_t arena_bytes_ = 0;
  std::vector<size_t> offsets_;
  size_t workspace_ = 0;
  size_t workspace_bytes_ = 0;
  void* queue_ = nullptr;
  void* shared_ = nullptr;
  void* state_ = nullptr;
  std::vector<TensorView> views_;
  std::vector<int32_t> inputs_;
  std::vector<int32_t> outputs_;
  int times_ = 1;
  double best_ = 1e9;
  double first_seconds_ = 0.0;
};

struct ConvShape {
  const char* name;
  int32_t inputs, outputs, size, kernel, stride, group;
};

constexpr ConvShape kConvs[] = {
    {"first 3x3s2 3-32@224", 3, 32, 224, 3, 2, 1},
    {"first 7x7s2 3-64@224", 3, 64, 224, 7, 2, 1},
    {"first 5x5 1-8@28", 1, 8, 28, 5, 1, 1},
    {"1x1 32-16@112", 32, 16, 112, 1, 1, 1},
    {"1x1 16-96@112", 16, 96, 112, 1, 1, 1},
    {"1x1 96-24@56", 96, 24, 56, 1, 1, 1},
    {"1x1 24-144@56", 24, 144, 56, 1, 1, 1},
    {"1x1 144-24@56", 144, 24, 56, 1, 1, 1},
    {"1x1 192-32@28", 192, 32, 28, 1, 1, 1},
    {"1x1 64-384@14", 64, 384, 14, 1, 1, 1},
    {"1x1 384-96@14", 384, 96, 14, 1, 1, 1},
    {"1x1 576-160@7", 576, 160, 7, 1, 1, 1},
    {"1x1 320-1280@7", 320, 1280, 7, 1, 1, 1},
    {"1x1s2 64-128@56", 64, 128, 56, 1, 2, 1},
    {"3x3 64-64@56", 64, 64, 56, 3, 1, 1},
    {"3x3 128-128@28", 128, 128, 28, 3, 1, 1},
    {"3x3 256-256@14", 256, 256, 14, 3, 1, 1},
    {"3x3 512-512@7", 512, 512, 7, 3, 1, 1},
    {"3x3s2 64-128@56", 64, 128, 56, 3, 2, 1},
    {"3x3s2 256-512@14", 256, 512, 14, 3, 2, 1},
    {"3x3 16-64@55", 16, 64, 55, 3, 1, 1},
    {"3x3 16-16@32", 16, 16, 32, 3, 1, 1},
    {"5x5 16-48@28", 16, 48, 28, 5, 1, 1},
    {"depthwise 3x3 32@112", 32, 32, 112, 3, 1, 32},
    {"depthwise 3x3s2 96@112", 96, 96, 112, 3, 2, 96},
    {"depthwise 3x3 144@56", 144, 144, 56, 3, 1, 144},
    {"depthwise 3x3 384@14", 384, 384, 14, 3, 1, 384},
    {"depthwise 3x3 960@7", 960, 960, 7, 3, 1, 960},
    {"depthwise 5x5 24@44", 24, 24, 44, 5, 1, 24},
    {"groups8 128-128@28", 128, 128, 28, 3, 1, 8},
};

Subject ConvSubject(const ConvShape& shape) {
  cpu::testing::Generator random(1);
  const int32_t pad = shape.kernel / 2;
  const int32_t out = (shape.size + 2 * pad - shape.kernel) / shape.stride + 1;
  const int32_t per_group = shape.inputs / shape.group;
  ConvAttributes attributes;
  attributes.group = shape.group;
  for (int32_t& stride : attributes.strides) stride = shape.stride;
  for (int32_t& value : attributes.pads) value = pad;
  attributes.activation.function = UnaryFunction::kRelu;
  Subject subject;
  subject.name = shape.name;
  subject.Add(Random({1, shape.inputs, shape.size, shape.size}, Layout::kChannelsLast, random),
              false);
  subject.Add(
      Random({shape.outputs, per_group, shape.kernel, shape.kernel}, Layout::kRowMajor, random),
      true);
  subject.Add(Random({shape.outputs}, Layout::kRowMajor, random), true);
  subject.outputs.emplace_back(DType::kF32, std::vector<int32_t>{1, shape.outputs, out, out},
                               Layout::kChannelsLast);
  subject.attributes = Words(attributes);
  subject.work = 2.0 * out * out * shape.outputs * per_group * shape.kernel * shape.kernel;
  return subject;
}

struct MatMulShape {
  const char* name;
  int32_t batches, rows, depth, columns;
  bool constant;
};

constexpr MatMulShape kMatMuls[] = {
    {"matmul 1x1280x1000", 1, 1, 1280, 1000, true},
    {"matmul 1x640x128", 1, 1, 640, 128, true},
    {"matmul 128x768x3072", 1, 128, 768, 3072, true},
    {"matmul 12x128x64x128 variable", 12, 128, 64, 128, false},
};

Subject MatMulSubject(const MatMulShape& shape) {
  cpu::testing::Generator random(1);
  MatMulAttributes attributes;
  attributes.transpose_b = 1;
  Subject subject;
  subject.name = shape.name;
  subject.kind = OpKind::kMatMul;
  subject.Add(Random({shape.batches, shape.rows, shape.depth}, Layout::kRowMajor, random), false);
  subject.Add(Random({shape.batches, shape.columns, shape.depth}, Layout::kRowMajor, random),
              shape.constant);
  subject.outputs.emplace_back(DType::kF32,
                               std::vector<int32_t>{shape.batches, shape.rows, shape.columns},
                               Layout::kRowMajor);
  subject.attributes = Words(attributes);
  subject.work = 2.0 * shape.batches * shape.rows * shape.depth * shape.columns;
  return subject;
}

/// Kernels of a backend that take the subject's shapes, in order of priority.
std::vector<std::unique_ptr<Runner>> MakeRunners(const Backend& backend, const KernelList& kernels,
                                                 Span<const KernelCaps> all, const Subject& subject,
                                                 int threads, void* device) {
  // Views without data, but of constants.
  std::vector<TensorView> views;
  std::vector<int32_t> inputs;
  for (size_t i = 0; i < subject.inputs.size(); ++i) {
    inputs.push_back(static_cast<int32_t>(i));
    views.push_back(subject.inputs[i].View(subject.constant[i]));
  }
  const int32_t output = static_cast<int32_t>(views.size());
  views.push_back(subject.outputs[0].View(false));
  OpCall call;
  call.tensors = views.data();
  call.input_ids = {inputs.data(), inputs.size()};
  call.output_ids = {&output, 1};
  call.attributes = subject.attributes.data();
  std::vector<std::unique_ptr<Runner>> runners;
  for (const KernelCaps& caps : all) {
    if (caps.kind != subject.kind || caps.supports(call) != nullptr) continue;
    if (std::strstr(caps.id, "portable") != nullptr) continue;
    for (const KernelEntry& kernel : kernels) {
      if (std::strcmp(kernel.id, caps.id) != 0) continue;
      runners.push_back(std::make_unique<Runner>(backend, kernel, caps, subject, threads, device));
    }
  }
  return runners;
}

struct Options {
  int threads = 1;
  double peak = 0.0;
  int rounds = 30;
  std::string part;
};

double Rate(const Subject& subject, const Runner* runner) {
  return runner == nullptr ? 0.0 : subject.work / runner->best() * 1e-9;
}

/// The fastest whose id holds `part`, or null.
const Runner* Fastest(const std::vector<std::unique_ptr<Runner>>& runners, const char* part) {
  const Runner* best = nullptr;
  for (const auto& runner : runners) {
    if (std::strstr(runner->id(), part) == nullptr) continue;
    if (best == nullptr || runner->best() < best->best()) best = runner.get();
  }
  return best;
}

void Measure(const Subject& subject, const Options& options, void* device) {
  if (subject.name.find(options.part) == std::string::npos) return;
  const Backend& device_backend = opencl::OpenclBackend();
  const Backend& cpu_backend = cpu::CpuBackend();
  auto opencl = MakeRunners(device_backend, device_backend.kernels, opencl::Kernels(), subject,
                            options.threads, device);
  auto cpu = MakeRunners(cpu_backend, cpu_backend.kernels, cpu::Kernels(), subject, options.threads,
                         nullptr);
#ifdef TENON_HAS_ONEDNN
  for (auto& runner : MakeRunners(cpu_backend, cpu::OneDnnKernels(), cpu::OneDnnCaps(), subject,
                                  options.threads, nullptr)) {
    cpu.push_back(std::move(runner));
  }
#endif
  for (int round = 0; round < options.rounds; ++round) {
    for (auto& runner : opencl) runner->Round();
    for (auto& runner : cpu) runner->Round();
  }
  const double chosen = Rate(subject, opencl[0].get());
  const double onednn = Rate(subject, Fastest(cpu, "onednn"));
  std::printf("%-30s %-22s %7.1f %5.0f%% %8.1f %8.1f %9.1f %8.1f %7.2f %6.2f\n",
              subject.name.c_str(), opencl[0]->id(), chosen, chosen / options.peak * 100.0,
              Rate(subject, Fastest(opencl, "tile")), Rate(subject, Fastest(opencl, "reference")),
              Rate(subject, Fastest(cpu, "vector")), onednn, onednn > 0.0 ? chosen / onednn : 0.0,
              opencl[0]->first_seconds());
  std::fflush(stdout);
}

Options Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--threads" && has_value) {
      options.threads = std::atoi(argv[++i]);
    } else if (word == "--peak" && has_value) {
      options.peak = std::atof(argv[++i]);
    } else if (word == "--rounds" && has_value) {
      options.rounds = std::atoi(argv[++i]);
    } else if (word == "--processor-time") {
      use_processor_time = true;
    } else {
      options.part = word;
    }
  }
  if (options.peak <= 0.0) options.peak = PeakFlops() * 1e-9 * options.threads;
  return options;
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) {
  using namespace tenon;
  const Options options = Parse(argc, argv);
  void* device = nullptr;
  Require("device", opencl::OpenclBackend().device->open(options.threads, &device));
  std::printf("10^9 operations a second; peak %.1f, %d thread(s), least of %d rounds\n",
              options.peak, options.threads, options.rounds);
  std::printf("%-30s %-22s %7s %6s %8s %8s %9s %8s %7s %6s\n", "shape", "OpenCL kernel", "OpenCL",
              "peak", "by tile", "by def.", "CPU vect.", "oneDNN", "/oneDNN", "1st s");
  for (const ConvShape& shape : kConvs) Measure(ConvSubject(shape), options, device);
  for (const MatMulShape& shape : kMatMuls) Measure(MatMulSubject(shape), options, device);
  opencl::OpenclBackend().device->close(device);
  return 0;
}
