#include "runtime/ops/host/attribute_fields.hpp"
#include "runtime/ops/host/host_rows.hpp"

namespace tenon {
namespace {

constexpr std::array kNonMaxSuppressionFields = {
    IntField("rows", offsetof(NonMaxSuppressionAttributes, rows)),
    IntField("most_of_class", offsetof(NonMaxSuppressionAttributes, most_of_class)),
    FloatField("overlap", offsetof(NonMaxSuppressionAttributes, overlap)),
    FloatField("least_score", offsetof(NonMaxSuppressionAttributes, least_score)),
    IntField("by_score", offsetof(NonMaxSuppressionAttributes, by_score)),
    IntField("by_center", offsetof(NonMaxSuppressionAttributes, by_center)),
};

/// A row depends on all that were taken before it.
bool NoSplit(const OpCall& /*call*/, int32_t /*axis*/, InputSplit* /*inputs*/,
             int32_t* /*granularity*/) {
  return false;
}

/// Every box may be compared with each that is taken of its class.
OpWork SuppressionWork(const OpCall& call) {
  OpWork work = MoveWork(call);
  constexpr int64_t kOverlapCost = 16;
  const auto most = call.AttributesAs<NonMaxSuppressionAttributes>().most_of_class;
  const TensorView& scores = call.Input(NonMaxSuppressionInput::kScores);
  work.elementary_ops = scores.Elements() * kOverlapCost * (most < 8 ? most + 1 : 8);
  return work;
}

}  // namespace

constexpr OpHostRow kNonMaxSuppressionHostRow = {
    .text = TextOf<NonMaxSuppressionAttributes>(kNonMaxSuppressionFields),
    .work = SuppressionWork,
    .split = {kEveryAxis, ImageAxis, NoSplit},
};

}  // namespace tenon
