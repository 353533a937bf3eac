// The public face of the converter (tenon/converter.hpp) over the pipeline.
#include <exception>

#include "converter/pipeline.hpp"
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
  if (request.batch < 0) return ToPublic(converter::UsageError("batch {} < 0", request.batch));
  options.import.batch = request.batch;
  options.import.shapes = request.shapes;
  options.fuse = request.fuse;
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
