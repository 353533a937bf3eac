#include "converter/quantize/calibration.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>

#include "converter/ir/elements.hpp"
#include "converter/ir/shapes.hpp"

namespace tenon::converter {
namespace {

constexpr std::string_view kLabels = "labels";

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Runs of digits compare as numbers.
bool NaturallyBefore(const std::string& a, const std::string& b) {
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (IsDigit(a[i]) && IsDigit(b[j])) {
      while (i < a.size() && a[i] == '0') ++i;
      while (j < b.size() && b[j] == '0') ++j;
      size_t end_a = i;
      size_t end_b = j;
      while (end_a < a.size() && IsDigit(a[end_a])) ++end_a;
      while (end_b < b.size() && IsDigit(b[end_b])) ++end_b;
      if (end_a - i != end_b - j) return end_a - i < end_b - j;
      const int order = a.compare(i, end_a - i, b, j, end_b - j);
      if (order != 0) return order < 0;
      i = end_a;
      j = end_b;
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i;
      ++j;
    }
  }
  if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j;
  return a < b;
}

/// Returns true for NAME and NAME_<k>.
bool IsOfInput(const std::string& array, const std::string& input) {
  if (array == input) return true;
  if (array.size() <= input.size() + 1 || array.compare(0, input.size(), input) != 0) return false;
  if (array[input.size()] != '_') return false;
  return std::all_of(array.begin() + static_cast<std::ptrdiff_t>(input.size()) + 1, array.end(),
                     IsDigit);
}

std::string Describe(DType dtype, const std::vector<int64_t>& shape) {
  return fmt::format("{}[{}]", DTypeName(dtype), fmt::join(shape, ","));
}

}  // namespace

std::string FileNameOf(const std::string& port) {
  std::string name = port;
  for (char& c : name) {
    const bool kept = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-';
    if (!kept) c = '_';
  }
  return name;
}

int64_t SamplesIn(const CalibrationArray& array, const Tensor& input) {
  if (array.dtype != input.dtype) return 0;
  const std::vector<int64_t> dims = DimsOf(input.shape);
  if (array.shape == dims) return 1;
  const bool is_stack = array.shape.size() == dims.size() + 1 &&
                        std::equal(dims.begin(), dims.end(), array.shape.begin() + 1);
  if (is_stack) return array.shape.front();
  const bool is_batch = !dims.empty() && array.shape.size() == dims.size() && dims.front() > 0 &&
                        array.shape.front() % dims.front() == 0 &&
                        std::equal(dims.begin() + 1, dims.end(), array.shape.begin() + 1);
  return is_batch ? array.shape.front() / dims.front() : 0;
}

namespace {

bool IsFinite(DType dtype, const std::vector<std::byte>& bytes) {
  if (dtype != DType::kF32) return true;
  for (size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    if (!std::isfinite(value)) return false;
  }
  return true;
}

Result<std::vector<std::vector<std::byte>>> SamplesOf(const Graph& graph, const Graph::Port& port,
                                                      const std::vector<CalibrationArray>& arrays) {
  const Tensor& tensor = graph.tensor(port.tensor);
  const std::string name = FileNameOf(port.name);
  const bool only = graph.inputs().size() == 1;
  std::vector<std::vector<std::byte>> samples;
  for (const CalibrationArray& array : arrays) {
    if (!only && !IsOfInput(array.name, name)) continue;
    const int64_t count = SamplesIn(array, tensor);
    if (count == 0) {
      return UsageError(
          "calibration: '{}' is {}, input '{}' wants {} or several of them in one more leading "
          "dimension",
          array.name, Describe(array.dtype, array.shape), port.name,
          Describe(tensor.dtype, DimsOf(tensor.shape)));
    }
    if (!IsFinite(array.dtype, array.bytes)) {
      return UsageError("calibration: '{}' holds values that are not finite", array.name);
    }
    const auto each = static_cast<std::ptrdiff_t>(tensor.ByteSize());
    for (int64_t i = 0; i < count; ++i) {
      const auto begin = array.bytes.begin() + static_cast<std::ptrdiff_t>(i) * each;
      samples.emplace_back(begin, begin + each);
    }
  }
  if (samples.empty()) {
    return UsageError("calibration: no sample for input '{}': wanted are .npy files {}of {}",
                      port.name, only ? "" : fmt::format("'{0}.npy' or '{0}_<k>.npy' ", name),
                      Describe(tensor.dtype, DimsOf(tensor.shape)));
  }
  return samples;
}

/// Checks that an array has as many bytes as its shape and dtype require.
Status CheckWhole(const CalibrationArray& array) {
  const auto left =
      static_cast<int64_t>(array.bytes.size() / static_cast<size_t>(DTypeBytes(array.dtype)));
  const bool whole = array.bytes.size() % static_cast<size_t>(DTypeBytes(array.dtype)) == 0;
  int64_t elements = 1;
  for (const int64_t dim : array.shape) {
    if (dim < 0 || (dim > 0 && elements > left / dim)) elements = -1;  // too many, or nonsense
    if (elements < 0) break;
    elements *= dim;
  }
  if (whole && elements == left) return {};
  return UsageError("calibration: '{}' is {} but has {} bytes", array.name,
                    Describe(array.dtype, array.shape), array.bytes.size());
}

Result<std::vector<int64_t>> ReadLabels(const CalibrationArray& array) {
  if (IsFloat(array.dtype) || array.dtype == DType::kBool || array.shape.size() != 1) {
    return UsageError("calibration: 'labels' is {}, wanted is one integer per sample",
                      Describe(array.dtype, array.shape));
  }
  std::vector<int64_t> labels;
  const auto size = static_cast<size_t>(DTypeBytes(array.dtype));
  for (size_t at = 0; at + size <= array.bytes.size(); at += size) {
    labels.push_back(ReadInteger(array.dtype, array.bytes.data() + at));
  }
  return labels;
}

/// Labels are one for each row of the first output, and one of its columns each.
Status CheckLabels(const Graph& graph, const CalibrationSet& calibration) {
  if (calibration.labels.empty() || graph.outputs().empty()) return {};
  const Shape& shape = graph.tensor(graph.outputs().front().tensor).shape;
  const int64_t classes = shape.rank == 0 ? 1 : shape[shape.rank - 1];
  const int64_t rows_of_one = classes == 0 ? 0 : shape.Elements() / classes;
  const int64_t rows = rows_of_one * static_cast<int64_t>(calibration.samples.size());
  if (static_cast<int64_t>(calibration.labels.size()) != rows) {
    return UsageError("calibration: {} labels for {} rows of the first output: one each is wanted",
                      calibration.labels.size(), rows);
  }
  for (const int64_t label : calibration.labels) {
    if (label >= 0 && label < classes) continue;
    return UsageError("calibration: label {} is none of the first output's classes, 0 to {}", label,
                      classes - 1);
  }
  return {};
}

}  // namespace

Result<CalibrationSet> MakeCalibration(const Graph& graph, std::vector<CalibrationArray> arrays) {
  std::sort(arrays.begin(), arrays.end(),
            [](const auto& a, const auto& b) { return NaturallyBefore(a.name, b.name); });
  CalibrationSet calibration;
  for (const CalibrationArray& array : arrays) {
    TENON_RETURN_IF_ERROR(CheckWhole(array));
  }
  const auto labels = std::find_if(arrays.begin(), arrays.end(),
                                   [](const auto& array) { return array.name == kLabels; });
  if (labels != arrays.end()) {
    TENON_ASSIGN_OR_RETURN(calibration.labels, ReadLabels(*labels));
    arrays.erase(labels);
  }
  if (graph.inputs().empty()) return UsageError("calibration: the model has no inputs");
  for (const Graph::Port& port : graph.inputs()) {
    TENON_ASSIGN_OR_RETURN(auto samples, SamplesOf(graph, port, arrays));
    if (calibration.samples.empty()) calibration.samples.resize(samples.size());
    if (calibration.samples.size() != samples.size()) {
      return UsageError("calibration: input '{}' has {} samples, '{}' {}: as many are wanted",
                        port.name, samples.size(), graph.inputs().front().name,
                        calibration.samples.size());
    }
    for (size_t i = 0; i < samples.size(); ++i) {
      calibration.samples[i].push_back(std::move(samples[i]));
    }
  }
  TENON_RETURN_IF_ERROR(CheckLabels(graph, calibration));
  return calibration;
}

std::vector<Sample> Spread(const std::vector<Sample>& samples, size_t count) {
  if (samples.size() <= count) return samples;
  std::vector<Sample> some;
  for (size_t i = 0; i < count; ++i) some.push_back(samples[i * samples.size() / count]);
  return some;
}

}  // namespace tenon::converter
