#include "converter/api/what_is_left.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

#include "converter/driver/import_model.hpp"
#include "converter/driver/refusal.hpp"
#include "converter/fold/fold_tensors.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

/// An attempt: what the user would write, and what it changes.
struct Attempt {
  std::string words;
  ConvertOptions options;
};

/// Samples of chance for every input: how many bytes a quantized model needs does not depend on
/// their values.
QuantizeOptions MadeUpSamples(const Graph& graph) {
  constexpr int kSamples = 2;
  QuantizeOptions quantize;
  quantize.goal.decibel = -1000;  // no layer stays float: accuracy is not what is asked
  std::mt19937 random(1);
  for (const Graph::Port& port : graph.inputs()) {
    const Tensor& tensor = graph.tensor(port.tensor);
    for (int i = 0; i < kSamples; ++i) {
      CalibrationArray array{fmt::format("{}_{}", FileNameOf(port.name), i),
                             tensor.dtype,
                             {tensor.shape.dims, tensor.shape.dims + tensor.shape.rank},
                             {}};
      array.bytes.resize(static_cast<size_t>(tensor.ByteSize()));
      for (size_t at = 0; tensor.dtype == DType::kF32 && at < array.bytes.size(); at += 4) {
        const float value = static_cast<float>(random() % 2001) / 1000.0F - 1.0F;
        std::memcpy(array.bytes.data() + at, &value, sizeof value);
      }
      quantize.arrays.push_back(std::move(array));
    }
  }
  return quantize;
}

/// True of a model for which two runs of the float graph take seconds at most: samples of larger
/// ones are not made up.
bool IsSmall(const Graph& graph) {
  constexpr int64_t kMostInputs = int64_t{4} << 20;
  constexpr int64_t kMostConstants = int64_t{64} << 20;
  int64_t inputs = 0;
  for (const Graph::Port& port : graph.inputs()) inputs += graph.tensor(port.tensor).ByteSize();
  return inputs <= kMostInputs && graph.ConstantBytes() <= kMostConstants;
}

/// True of a model whose layers compute with bytes, which there is nothing left to make bytes of.
bool IsQuantized(const Graph& graph) {
  const std::vector<OpId> order = graph.OpOrder();
  return std::any_of(order.begin(), order.end(),
                     [&](OpId id) { return TraitsOf(graph.op(id).kind).quantized; });
}

/// True of an input that a camera could deliver: f32, [N, C, H, W] with 1 or 3 channels.
bool IsImage(const Tensor& tensor) {
  return tensor.dtype == DType::kF32 && tensor.shape.rank == 4 &&
         (tensor.shape[1] == 1 || tensor.shape[1] == 3);
}

std::optional<Attempt> WithBytes(const Graph& graph, const ConvertOptions& options) {
  Attempt attempt{"", options};
  for (const Graph::Port& port : graph.inputs()) {
    if (!IsImage(graph.tensor(port.tensor))) continue;
    auto format = ParseInputFormat(port.name, "u8,nhwc,scale=0.0039215686");
    if (!format.ok()) continue;
    attempt.options.input_formats.push_back(std::move(*format));
    attempt.words +=
        fmt::format("{}--input-format {}=u8,nhwc,...", attempt.words.empty() ? "" : " ", port.name);
  }
  if (attempt.words.empty() || !options.input_formats.empty()) return std::nullopt;
  return attempt;
}

std::optional<Attempt> WithHalfTheSize(const Graph& graph, const ConvertOptions& options) {
  Attempt attempt{"", options};
  for (const Graph::Port& port : graph.inputs()) {
    const Tensor& tensor = graph.tensor(port.tensor);
    constexpr int32_t kLeast = 16;
    const Shape& shape = tensor.shape;
    if (!IsImage(tensor) || shape[2] < kLeast || shape[3] < kLeast) continue;
    const std::vector<int64_t> half = {shape[0], shape[1], shape[2] / 2, shape[3] / 2};
    attempt.options.import.shapes[port.name] = half;
    attempt.words += fmt::format("{}--shape {}={}", attempt.words.empty() ? "" : " ", port.name,
                                 fmt::join(half, "x"));
  }
  if (attempt.words.empty()) return std::nullopt;
  return attempt;
}

/// The likeliest first.
std::vector<Attempt> AttemptsOf(const Graph& graph, const ConvertOptions& options) {
  std::vector<Attempt> attempts;
  if (!options.quantize && options.weights != WeightsForm::kInt8) {
    attempts.push_back({"--weights=int8", options});
    attempts.back().options.weights = WeightsForm::kInt8;
  }
  const std::optional<Attempt> bytes = WithBytes(graph, options);
  if (!options.quantize && !IsQuantized(graph) && IsSmall(graph)) {
    attempts.push_back({"--quantize=int8 --calibration DIR", options});
    attempts.back().options.quantize = MadeUpSamples(graph);
  }
  if (bytes) attempts.push_back(*bytes);
  if (const auto half = WithHalfTheSize(graph, options)) attempts.push_back(*half);
  return attempts;
}

/// The bytes that the message of a refusal says are needed; 0 where it says something else.
int64_t BytesNeeded(const std::string& message) {
  constexpr std::string_view kBefore = "the model needs ";
  return message.starts_with(kBefore) ? std::atoll(message.c_str() + kBefore.size()) : 0;
}

/// True if an attempt lacks the same memory, by nearly as much: constants do not become fewer
/// because an image is smaller.
bool HelpsNothing(const std::string& tried, const std::string& refused) {
  constexpr int64_t kShares = 16;
  const auto rest = [](const std::string& text) { return text.substr(text.find(" bytes") + 1); };
  if (tried.find(" bytes") == std::string::npos || refused.find(" bytes") == std::string::npos) {
    return tried == refused;
  }
  const int64_t before = BytesNeeded(refused);
  return rest(tried) == rest(refused) && BytesNeeded(tried) >= before - before / kShares;
}

/// One line about an attempt; empty where the model does not allow it, or it changes nothing.
std::string ResultOf(const Attempt& attempt, const Error& refused) {
  const auto conversion = Convert(attempt.options);
  if (conversion.ok()) {
    const MemoryReport& memory = conversion->memory;
    return fmt::format("with {} it fits: an arena of {} bytes in '{}', {} bytes of constants",
                       attempt.words, memory.arena_bytes, memory.space, memory.constants_bytes);
  }
  if (conversion.error().kind != ErrorKind::kDoesNotFit) return "";
  if (HelpsNothing(conversion.error().message, refused.message)) return "";
  std::string needs = conversion.error().message;
  for (const std::string& line : conversion.error().details) {
    if (line.starts_with("and the model needs")) needs += ", " + line;
  }
  return fmt::format("with {} {}", attempt.words, needs);
}

void TakeBackLimits(const Board& chip, std::vector<std::string>& details) {
  for (std::string& line : details) {
    for (const auto& [name, bytes] : LimitsIn(line)) {
      const MemorySpace* space = chip.FindSpace(name);
      if (space == nullptr || bytes <= space->bytes) continue;
      line =
          fmt::format("within the chip's memory no limit helps: '{}' has {} bytes, {} are needed",
                      name, space->bytes, bytes);
      break;
    }
  }
}

}  // namespace

void AddWhatIsLeft(const ConvertOptions& options, const Board& chip, double seconds, Error& error) {
  if (chip.architecture != "cortex-m" || error.kind != ErrorKind::kDoesNotFit) return;
  TakeBackLimits(chip, error.details);
  const auto graph = ImportModel(options.model, options.import, FoldTensors);
  if (!graph.ok()) return;
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  std::vector<Attempt> attempts = AttemptsOf(*graph, options);
  for (size_t i = 0; i < attempts.size(); ++i) {
    Attempt& attempt = attempts[i];
    if (options.progress) {
      options.progress("weighing " + attempt.words, static_cast<int>(i) + 1,
                       static_cast<int>(attempts.size()));
    }
    const double left = seconds - std::chrono::duration<double>(Clock::now() - start).count();
    if (left <= 0) {
      error.details.push_back(fmt::format("not tried for lack of time: {}", attempt.words));
      continue;
    }
    attempt.options.compile.time_limit = TimeLimit::After(left);
    attempt.options.progress = nullptr;
    const std::string result = ResultOf(attempt, error);
    if (!result.empty()) error.details.push_back(result);
  }
}

}  // namespace tenon::converter
