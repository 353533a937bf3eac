// Every parallel mode computes what the sequential program does, bit for bit, on batches of any
// number of rows that are given in one call. Fast kernels for f32 products sum in another order
// where a part of a batch has few rows: where such a part is made of f32, kernels are portable
// here, whose sums do not depend on the extents, and a test of its own says how near fast ones
// come.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "converter/driver/pipeline.hpp"
#include "converter/ir/elements.hpp"
#include "converter/split/batch_rows.hpp"
#include "tenon/tenon.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/parsed_graph.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/shared_folder.hpp"

namespace tenon::test {
namespace {

using converter::Conversion;
using converter::ConvertOptions;
using converter::Graph;
using converter::ParallelMode;
using converter::Parsed;
using Arrays = std::vector<std::vector<std::byte>>;

constexpr ParallelMode kModes[] = {
    ParallelMode::kIntra,
    ParallelMode::kInter,
    ParallelMode::kInterIntra,
    ParallelMode::kReplicas,
    ParallelMode::kReplicasIntra,
    ParallelMode::kReplicasInter,
    ParallelMode::kReplicasInterIntra,
};

/// A plan file that is gone with the object.
class PlanFile {
 public:
  explicit PlanFile(const std::vector<uint8_t>& plan) {
    const char* folder = std::getenv("TENON_BINARY_DIR");
    path_ = std::filesystem::path(folder != nullptr ? folder : ".") / "parallel_runs_test.tenon";
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(plan.data()),
               static_cast<std::streamsize>(plan.size()));
  }
  PlanFile(const PlanFile&) = delete;
  PlanFile& operator=(const PlanFile&) = delete;
  ~PlanFile() { std::filesystem::remove(path_); }
  [[nodiscard]] tenon::Plan Open(int threads, const std::string& program) const {
    auto plan = tenon::Plan::Open(path_.string(), threads, {}, program);
    if (!plan) FAIL(plan.error().message);
    return std::move(*plan);
  }

 private:
  std::filesystem::path path_;
};

size_t RowBytes(const tenon_port_info& port) {
  return port.bytes / static_cast<size_t>(port.dims[0]);
}

/// Inputs for `rows` rows, seeded; integers are small.
Arrays InputsFor(const tenon::Plan& plan, size_t rows) {
  Arrays inputs;
  for (size_t i = 0; i < plan.InputCount(); ++i) {
    const tenon_port_info port = plan.Input(i);
    const auto dtype = static_cast<DType>(port.dtype);
    const auto bytes = static_cast<int64_t>(RowBytes(port) * rows);
    inputs.push_back(
        converter::RandomElements(dtype, bytes / DTypeBytes(dtype), 17 + static_cast<uint64_t>(i)));
  }
  return inputs;
}

/// Runs one call as the mode says; what comes out, or nothing and a failed check.
Arrays RunCall(const PlanFile& file, const converter::ParallelCandidate& mode,
               const std::string& program, size_t rows) {
  const bool between = RunsBetweenOps(mode.mode);
  const tenon::Plan plan = file.Open(mode.threads_per_op, program);
  tenon_stream_options options{};
  options.replicas = static_cast<size_t>(mode.replicas);
  if (between) {
    options.mode = RunsInsideOps(mode.mode) ? TENON_STREAM_INTER_INTRA : TENON_STREAM_INTER;
  }
  auto stream = tenon::Stream::Open(plan, options);
  if (!stream) FAIL(stream.error().message);
  const Arrays inputs = InputsFor(plan, rows);
  Arrays outputs;
  std::vector<const void*> from;
  std::vector<void*> to;
  for (const auto& input : inputs) from.push_back(input.data());
  for (size_t i = 0; i < plan.OutputCount(); ++i) {
    outputs.emplace_back(RowBytes(plan.Output(i)) * rows, std::byte{0xA5});
    outputs.back().reserve(1);  // an output without elements has an address, too
  }
  for (auto& output : outputs) to.push_back(output.data());
  for (int times = 0; times < 2; ++times) {
    const auto error = stream->RunBatch(rows, from.data(), to.data());
    if (error) FAIL(error->message);
  }
  return outputs;
}

struct Compared {
  size_t modes = 0;
  std::string differs;   ///< names of modes
  double deviation = 0;  ///< largest of any mode, see RelativeDifference
};

/// Converts for every mode that is possible, and compares with one thread.
template <typename ConvertIt>
Compared Compare(ConvertOptions options, const ConvertIt& convert) {
  Compared compared;
  Arrays expected;
  for (const ParallelMode mode : kModes) {
    options.parallel.mode = mode;
    const auto converted = convert(options);
    if (!converted.ok()) {
      REQUIRE_MESSAGE(converted.error().kind == converter::ErrorKind::kUsage,
                      converted.error().message);
      continue;
    }
    const converter::ParallelReport& report = converted->parallel;
    const PlanFile file(converted->plan);
    const auto rows = static_cast<size_t>(report.rows_per_call);
    REQUIRE(rows > 0);
    if (expected.empty()) expected = RunCall(file, {}, "", rows);
    const std::string program =
        report.shard_rows > 0 ? "shards" : (RunsBetweenOps(mode) ? "inter" : "");
    const auto& chosen = report.choice.candidates[report.choice.chosen];
    const Arrays outputs = RunCall(file, chosen, program, rows);
    if (outputs != expected) compared.differs += std::string(ParallelModeName(mode)) + " ";
    for (size_t i = 0; i < outputs.size(); ++i) {
      compared.deviation =
          std::max(compared.deviation, RelativeDifference(outputs[i], expected[i]));
    }
    ++compared.modes;
  }
  return compared;
}

/// So slow that waking a thread costs nothing beside an op.
ConvertOptions SlowThreads(int threads, bool portable = true) {
  ConvertOptions options = OptionsFor();
  options.board.units[0].portable_kernels_only = portable;
  options.board.units[0].multiply_accumulates_per_second = {{"f32", 1e6}};
  options.board.units[0].elementary_ops_per_second = 1e6;
  options.parallel.threads = threads;
  return options;
}

Compared CompareGraph(const Graph& graph, ConvertOptions options) {
  return Compare(std::move(options),
                 [&](const ConvertOptions& with) { return converter::ConvertGraph(graph, with); });
}

/// Two branches of convolutions, joined; every row by itself.
std::string Branches(int rows) {
  return fmt::format(R"(graph g
input %x: f32[{0},6,12,12]
const %w1: f32[16,6,3,3] = random(1)
const %w2: f32[16,6,5,5] = random(2)
const %m: f32[4608,10] = random(3)
%a = conv(%x, %w1) {{pads=[1,1,1,1]}} "left"
%b = conv(%x, %w2) {{pads=[2,2,2,2]}} "right"
%c = concat(%a, %b) {{axis=1}} "join"
%r = reshape(%c) {{dims=[{0},4608]}} "flat"
%p = matmul(%r, %m) "product"
%y = softmax(%p) {{axis=1}} "softmax"
output %y
)",
                     rows);
}

/// Two branches that are normalised over the batch.
std::string Normalised(int rows) {
  return fmt::format(R"(graph g
input %x: f32[{0},6,12,12]
const %w1: f32[16,6,3,3] = random(1)
const %w2: f32[16,6,5,5] = random(2)
%a = conv(%x, %w1) {{pads=[1,1,1,1]}} "left"
%b = conv(%x, %w2) {{pads=[2,2,2,2]}} "right"
%ma = reduce(%a) {{function=mean, axes_mask=13, keep_dims=1}} "left mean"
%mb = reduce(%b) {{function=mean, axes_mask=13, keep_dims=1}} "right mean"
%ca = binary(%a, %ma) {{function=sub}} "left centred"
%cb = binary(%b, %mb) {{function=sub}} "right centred"
%y = concat(%ca, %cb) {{axis=1}} "join"
output %y
)",
                     rows);
}

TEST_CASE("Parallel modes: a batch of any size has the bits of the sequential program") {
  for (const int rows : {1, 3, 7, 33}) {
    for (const int threads : {2, 4, 6}) {
      CAPTURE(rows);
      CAPTURE(threads);
      const Compared compared = CompareGraph(Parsed(Branches(rows)), SlowThreads(threads));
      CHECK(compared.differs == "");
      CHECK(compared.modes >= (threads == 2 ? 4 : 7));
    }
  }
}

TEST_CASE("Parallel modes: with fast kernels parts of a batch differ by the order of sums only") {
  for (const int rows : {3, 7}) {
    CAPTURE(rows);
    std::string products = Branches(rows);  // without softmax, which makes differences larger
    products.resize(products.rfind("%y = softmax"));
    const Compared compared =
        CompareGraph(Parsed(products + "output %p\n"), SlowThreads(4, /*portable=*/false));
    CHECK(compared.deviation < 1e-5);  // of models' outputs against a reference, too
    CHECK(compared.modes == 7);
  }
}

TEST_CASE("Parallel modes: a batch that is normalised as a whole has them too") {
  for (const int rows : {3, 7, 33}) {
    CAPTURE(rows);
    const Compared compared = CompareGraph(Parsed(Normalised(rows)), SlowThreads(4));
    CHECK(compared.differs == "");
    CHECK(compared.modes == 3);  // no replicas
  }
}

TEST_CASE("Parallel modes: random graphs whose rows are apart have them on replicas") {
  size_t with_rows = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    const Graph graph = RandomGraph(seed);
    const converter::BatchRows batch = converter::FindBatchRows(graph);
    if (batch.rows == 0 || (batch.rows > 1 && !batch.apart)) continue;
    CAPTURE(seed);
    CAPTURE(batch.rows);
    ConvertOptions options = SlowThreads(4);
    if (batch.rows == 1) options.parallel.rows_per_call = seed % 7 + 1;
    const Compared compared = CompareGraph(graph, options);
    CHECK(compared.differs == "");
    ++with_rows;
  }
  CHECK(with_rows > 20);
}

TEST_CASE("Parallel modes: real models have them on batches of any size") {
  struct Model {
    const char* path;
    bool has_batch;  ///< else of one row: the call has several
    bool portable;
  };
  const Model models[] = {{"models/kwt1_transformer/model.onnx", false, false},
                          {"models/mnist_cnn/mnist.onnx", false, false},
                          {"models/mlperf_kws_dscnn/kws_int8.tflite", true, false},
                          {"models/mlperf_ad01_autoencoder/ad01_int8.tflite", true, false},
                          {"models/mlperf_resnet8_cifar10/resnet8_float.tflite", true, true}};
  for (const Model& model : models) {
    const std::filesystem::path path = SharedPath(model.path);
    if (path.empty()) continue;
    for (const int64_t rows : {1, 3, 7, 33}) {
      const std::string name = model.path;
      CAPTURE(name);
      CAPTURE(rows);
      ConvertOptions options = OptionsFor();
      options.model = path;
      options.board.units[0].portable_kernels_only = model.portable;
      options.parallel.threads = 4;
      (model.has_batch ? options.import.batch : options.parallel.rows_per_call) = rows;
      const Compared compared =
          Compare(options, [](const ConvertOptions& with) { return converter::Convert(with); });
      CHECK(compared.differs == "");
      CHECK(compared.modes >= 2);
    }
  }
}

}  // namespace
}  // namespace tenon::test
