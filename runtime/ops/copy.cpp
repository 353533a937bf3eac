#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

Status Infer(const OpCall& call, OutputType* outputs) {
  return SetOutput(call.Input(0).dtype, call.Input(0).shape(), outputs);
}

}  // namespace

constexpr OpRow kCopyRow = {OpKind::kCopy,         "copy",        /*min_inputs=*/1,
                            /*max_inputs=*/1,      /*outputs=*/1,
                            /*attribute_words=*/0, Infer};

constexpr OpText kCopyText = {{}, nullptr};

}  // namespace tenon
