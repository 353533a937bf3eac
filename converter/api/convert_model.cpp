// The public face of the converter (tenon/converter.hpp) over the pipeline.
#include <exception>

#include "converter/driver/pipeline.hpp"
#include "converter/report/decisions.hpp"
#include "tenon/converter.hpp"

namespace tenon {
namespace {

ConvertError ToPublic(const converter::Error& error) {
  ConvertError out{ConvertError::Kind::kInternal, error.message, error.details};
  switch (error.kind) {
    case converter::ErrorKind::kUsage:
      out.kind = ConvertError::Kind::kUsage;
      break;
    case converter::ErrorKind::kInput:
      out.kind = ConvertError::Kind::kInput;
      break;
    case converter::ErrorKind::kDoesNotFit:
      out.kind = ConvertError::Kind::kDoesNotFit;
      break;
    case converter::ErrorKind::kBackend:
      out.kind = ConvertError::Kind::kBackend;
      break;
    case converter::ErrorKind::kInternal:
      break;
  }
  return out;
}

converter::Result<DType> DTypeNamed(const char* what, const std::string& name,
                                    const std::string& dtype) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (dtype == DTypeName(static_cast<DType>(i))) return static_cast<DType>(i);
  }
  return converter::UsageError("{} '{}': no dtype '{}'", what, name, dtype);
}

/// The importer compares dtype, shape and bytes with what the model says.
converter::Result<converter::ImportOptions::Frozen> FrozenOf(
    const std::string& name, const ConvertRequest::Constant& constant) {
  converter::ImportOptions::Frozen frozen;
  TENON_ASSIGN_OR_RETURN(frozen.dtype, DTypeNamed("freeze", name, constant.dtype));
  if (constant.shape.size() > static_cast<size_t>(kMaxRank)) {
    return converter::UsageError("freeze '{}': rank {}, {} at most", name, constant.shape.size(),
                                 kMaxRank);
  }
  for (const int64_t dim : constant.shape) {
    if (dim < 0 || dim > INT32_MAX) {
      return converter::UsageError("freeze '{}': no tensor has a dimension of {}", name, dim);
    }
    frozen.shape.dims[frozen.shape.rank++] = static_cast<int32_t>(dim);
  }
  frozen.bytes = constant.bytes;
  return frozen;
}

converter::OrderMode ModeOf(ConvertRequest::Order order) {
  switch (order) {
    case ConvertRequest::Order::kSource:
      return converter::OrderMode::kSource;
    case ConvertRequest::Order::kRandom:
      return converter::OrderMode::kRandom;
    case ConvertRequest::Order::kSearch:
      break;
  }
  return converter::OrderMode::kSearch;
}

converter::Result<converter::QuantizeOptions> QuantizeOf(const ConvertRequest::Quantize& request) {
  converter::QuantizeOptions options;
  for (const auto& [name, constant] : request.samples) {
    TENON_ASSIGN_OR_RETURN(const DType dtype, DTypeNamed("quantize", name, constant.dtype));
    options.arrays.push_back({name, dtype, constant.shape, constant.bytes});
  }
  options.ranges = converter::RangeMethod::kAuto;
  bool known = request.ranges == "auto";
  for (const auto method : {converter::RangeMethod::kMinMax, converter::RangeMethod::kMse,
                            converter::RangeMethod::kPercentile}) {
    if (request.ranges != converter::Name(method)) continue;
    options.ranges = method;
    known = true;
  }
  if (!known) return converter::UsageError("quantize: no ranges '{}'", request.ranges);
  options.goal.decibel = request.snr_db;
  options.keep = request.keep;
  return options;
}

/// Everything but the model, the board and its limits.
converter::Status ReadMethods(const ConvertRequest& request, converter::ConvertOptions& options) {
  if (request.batch < 0) return converter::UsageError("batch {} < 0", request.batch);
  options.import.batch = request.batch;
  options.import.shapes = request.shapes;
  for (const auto& [name, constant] : request.freeze) {
    TENON_ASSIGN_OR_RETURN(options.import.freeze[name], FrozenOf(name, constant));
  }
  options.fuse = request.fuse;
  options.order = ModeOf(request.order);
  if (request.order_budget) {
    if (*request.order_budget < 0) {
      return converter::UsageError("order budget {} < 0", *request.order_budget);
    }
    options.order_budget = *request.order_budget;
  }
  options.seed = request.seed;
  options.key_nodes = request.key_nodes;
  options.split = request.split;
  options.objective = request.objective == ConvertRequest::Objective::kMemory
                          ? converter::Objective::kMemory
                          : converter::Objective::kLatency;
  if (request.quantize) {
    TENON_ASSIGN_OR_RETURN(options.quantize, QuantizeOf(*request.quantize));
  }
  if (request.profile.empty()) return {};
  TENON_ASSIGN_OR_RETURN(converter::Profile profile, converter::LoadProfile(request.profile));
  TENON_RETURN_IF_ERROR(converter::CheckProfileFits(profile, options.board));
  options.profile = std::make_shared<const converter::Profile>(std::move(profile));
  return {};
}

ConvertOutcome ConvertOrThrow(const ConvertRequest& request) {
  converter::ConvertOptions options;
  options.model = request.model;
  converter::Result<converter::Board> board = converter::LoadBoard(request.board);
  if (!board.ok()) return ToPublic(board.error());
  options.board = std::move(*board);
  for (const auto& [name, bytes] : request.memory_limits) {
    converter::MemorySpace* space = options.board.FindSpace(name);
    if (space == nullptr || bytes < 0) {
      return ToPublic(converter::UsageError(
          "memory limit '{}' = {}: board '{}' has no such space, or the limit is negative", name,
          bytes, options.board.name));
    }
    space->bytes = bytes;
    space->reserve_bytes = 0;
  }
  if (converter::Status status = ReadMethods(request, options); !status.ok()) {
    return ToPublic(status.error());
  }
  converter::Result<converter::Conversion> conversion = converter::Convert(options);
  if (!conversion.ok()) return ToPublic(conversion.error());
  return ConvertedPlan{std::move(conversion->plan),
                       converter::DecisionsJson(*conversion).dump(2) + "\n"};
}

}  // namespace

inline namespace api_v1 {

ConvertOutcome Convert(const ConvertRequest& request) {
  try {
    return ConvertOrThrow(request);
  } catch (const std::exception& error) {
    return ConvertError{ConvertError::Kind::kInternal, error.what(), {}};
  }
}

}  // namespace api_v1
}  // namespace tenon
