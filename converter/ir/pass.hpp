// Defines a pass: a named change of the graph that reports what it did and what it declined to do.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "converter/ir/graph.hpp"
#include "converter/ir/locations.hpp"

namespace tenon::converter {

struct Declined {
  std::string op;
  std::string reason;
};

struct PassReport {
  std::string name;
  int changed = 0;
  std::vector<Declined> declined;
};

/// Describes how a device delivers an input.
struct InputFormat {
  std::string input;                  ///< the port's name
  DType dtype = DType::kF32;          ///< u8, i8 or f32
  std::optional<bool> channels_last;  ///< none: as the model has its images
  std::vector<float> mean;            ///< none: 0; one, or one for each channel
  std::vector<float> scale;           ///< none: 1; finite, not 0
};

/// Selects how the weights of ops in f32 are stored.
enum class WeightsForm {
  kModel,  ///< as the model has them (Graph::weights)
  kF32,
  kF16,
  kInt8,
};

/// Reports how all weights were stored.
struct WeightsReport {
  WeightsForm form = WeightsForm::kF32;  ///< that was asked for; kModel: the model's own
  int tensors = 0;                       ///< weights of float convolutions and matrix products
  int stored = 0;                        ///< of these in fewer bits
  int64_t bytes_before = 0;              ///< of all these tensors
  int64_t bytes_after = 0;               ///< with the scales of i8
  double largest_error = 0;  ///< of a stored weight, relative to the largest of its output channel
  /// For the stored tensor that lost most: energy of its weights over that of their errors. 0: no
  /// weight changed.
  double least_snr_db = 0;
  std::string least_snr_tensor;
};

/// Computes the values of constant tensors: given a graph and tensors that depend on constants
/// only, turns each into a constant. It is passed in, because evaluation runs the kernels.
using ConstantFolder = std::function<Status(Graph& graph, const std::vector<TensorId>& tensors)>;

/// Contains what passes get besides the graph. Passes know neither kernels nor how to run them;
/// they call these functions instead.
struct PassContext {
  PassReport report;  ///< of the pass that runs

  ConstantFolder fold;
  /// Returns why the kernel of `after`, another form of the op `before`, would be worse, or an
  /// empty text. Null: ops may always be rewritten.
  std::function<std::string(const Graph& graph, const Op& before, const Op& after)>
      why_worse_kernel;
  /// Returns whether a kernel better than portable code would run the op. Null: none would.
  std::function<bool(const Graph& graph, const Op& op)> has_fast_kernel;
  /// Returns whether the kernel that would run the op is faster with its zero point folded into the
  /// bias (KernelCaps::wants_folded_bias). Null: none is.
  std::function<bool(const Graph& graph, const Op& op)> wants_folded_bias;

  std::vector<InputFormat> input_formats;
  bool for_time = true;  ///< whether passes run that make models faster and may need more memory
  bool images_channels_last = false;  ///< the model's own inputs of rank 4 are [N, H, W, C]
  WeightsForm weights_form = WeightsForm::kModel;
  /// Smaller weights stay as they are: a scale and the conversion cost more than they save.
  int64_t fewest_weight_bytes = 1024;

  // The following are results of passes.
  WeightsReport weights;
  Locations locations;
};

/// A pass leaves the graph valid (Verify runs after each) and its outputs' names, types and values
/// unchanged up to rounding.
using PassFunction = std::function<Status(Graph& graph, PassContext& context)>;

struct Pass {
  const char* name;  ///< "fold-batch-norm"
  PassFunction run;
};

/// Runs a pass, then Verify. Adds the pass's report in any case. An error names the pass, except
/// for usage errors, which come from the user's own input.
[[nodiscard]] Status RunPass(const Pass& pass, Graph& graph, PassContext& context,
                             std::vector<PassReport>& reports);

}  // namespace tenon::converter
