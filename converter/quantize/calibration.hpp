// Prepares the samples with which a float model is quantized.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converter/ir/graph.hpp"
#include "converter/quantize/graph_runner.hpp"

namespace tenon::converter {

/// An array from a file: `name` is the file's name without folder and extension.
struct CalibrationArray {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;  ///< row-major
};

struct CalibrationSet {
  std::vector<Sample> samples;  ///< at least one
  /// The right class of every row of the model's first output, samples in order; empty: not known.
  std::vector<int64_t> labels;
};

/// Assigns arrays to the graph's inputs. With one input all arrays belong to it; with several,
/// those called NAME or NAME_<k> do, where NAME is the input's with everything but letters, digits,
/// '.', '-' and '_' turned into '_'. An array is one sample if it has the input's shape; several,
/// if it has one more dimension before it, or a first dimension that is a multiple of the input's.
/// Arrays are taken in natural order of their names (2 before 10). The array called "labels"
/// contains integers.
///
/// Errors (kUsage, with what is wanted): no sample, a shape or dtype that does not match, values
/// that are not finite, inputs with different numbers of samples, labels of another number, or of
/// no class.
[[nodiscard]] Result<CalibrationSet> MakeCalibration(const Graph& graph,
                                                     std::vector<CalibrationArray> arrays);

/// What the files of an input's samples are called, but for a number: its name with everything but
/// letters, digits, '.' and '-' turned into '_'.
[[nodiscard]] std::string FileNameOf(const std::string& port);

/// Returns how many samples of this tensor the array contains; 0: it does not match.
[[nodiscard]] int64_t SamplesIn(const CalibrationArray& array, const Tensor& input);

/// Returns `count` of the samples, evenly spread, or all if there are fewer.
[[nodiscard]] std::vector<Sample> Spread(const std::vector<Sample>& samples, size_t count);

}  // namespace tenon::converter
