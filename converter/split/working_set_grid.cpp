#include "converter/split/working_set_grid.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "converter/split/split_op.hpp"

namespace tenon::converter {
namespace {

/// Returns the least common multiple, or one of the arguments if that exceeds 32 bits.
int32_t CommonMultiple(int32_t a, int32_t b) {
  const int64_t multiple = std::lcm(int64_t{a}, int64_t{b});
  return multiple <= std::numeric_limits<int32_t>::max() ? static_cast<int32_t>(multiple) : a;
}

/// The cost of starting an op, in bytes that could be moved in that time (0.3 us at 100 GB/s).
constexpr int64_t kStartBytes = 32 << 10;

void AddPieces(const InputSplit& split, const std::vector<IndexRange>& ranges, int32_t size,
               GridAxis::Option& option) {
  int32_t longest = 0;
  int64_t together = 0;
  for (const IndexRange& range : ranges) {
    // The uncut op has all of an input, including what no window reaches.
    const int32_t length = ranges.size() == 1 ? size : InputRange(split, range, size).size();
    longest = std::max(longest, length);
    together += length;
  }
  option.longest.push_back(split.axis < 0 ? -1 : longest);
  option.together.push_back(split.axis < 0 ? -1 : together);
}

}  // namespace

WorkingSetGrid::WorkingSetGrid(const Graph& graph, const Op& op, const WorkingSetLimit& limit)
    : splitting_(limit.splitting), workspace_(op.workspace_bytes) {
  const WorkingSpace space = limit.space_of(graph, op);
  AddOperands(graph, op, space.stages_constants);
  for (const SplitDimension dimension : GetOpHostRow(op.kind).split.preference) {
    AddAxis(graph, op, dimension);
    if (dimension == SplitDimension::kChannel && limit.accumulate) AddInputChannels(graph, op);
  }
}

void WorkingSetGrid::AddOperands(const Graph& graph, const Op& op, bool counts_constants) {
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    Operand operand;
    if (op.inputs[i] != kNone) {
      const Tensor& tensor = graph.tensor(op.inputs[i]);
      operand.shape = tensor.shape;
      operand.element_bytes = DTypeBytes(tensor.dtype);
      const auto before = op.inputs.begin() + static_cast<std::ptrdiff_t>(i);
      const bool again = std::find(op.inputs.begin(), before, op.inputs[i]) != before;
      operand.counts = !again && (counts_constants || !tensor.IsConstant());
      operand.added_once = i >= 2;
    }
    operands_.push_back(operand);
  }
  const Tensor& output = graph.tensor(op.outputs[0]);
  operands_.push_back({output.shape, DTypeBytes(output.dtype), true, false});
  adds_apart_ = AddsMatMulsApart(graph, op);
}

void WorkingSetGrid::AddAxis(const Graph& graph, const Op& op, SplitDimension dimension) {
  const OpCallView view(graph, op);
  const int32_t axis = GetOpHostRow(op.kind).split.axis(view.call(), dimension);
  const bool taken = std::any_of(axes_.begin(), axes_.end(), [&](const GridAxis& other) {
    return !other.accumulates && other.axis == axis;
  });
  if (axis < 0 || taken) return;
  const std::optional<OpCut> cut = FindCut(graph, op, axis);
  if (!cut.has_value() || cut->extent < 2) return;
  GridAxis added;
  added.dimension = Name(dimension);
  added.axis = axis;
  added.extent = cut->extent;
  added.granularity = cut->granularity;
  int32_t smallest_length = 1;
  if (dimension == SplitDimension::kChannel) {
    added.granularity = CommonMultiple(cut->granularity, splitting_.channel_multiple);
  }
  if (dimension == SplitDimension::kHeight) smallest_length = splitting_.smallest_part_rows;
  std::vector<InputSplit> splits = cut->inputs;
  splits.push_back({axis, 1, 1, 0, 1});
  AddOptions(added, splits, smallest_length);
}

void WorkingSetGrid::AddInputChannels(const Graph& graph, const Op& op) {
  const int32_t channels = InputChannels(graph, op);
  if (channels < 2) return;
  GridAxis added;
  added.dimension = "input_channel";
  added.accumulates = true;
  added.extent = channels;
  added.granularity = splitting_.channel_multiple;
  const InputChannelAxes axes = InputChannelAxesOf(graph, op);
  std::vector<InputSplit> splits(operands_.size());
  splits[0].axis = axes.x;
  splits[1].axis = axes.w;
  AddOptions(added, splits, 1);
}

void WorkingSetGrid::AddOptions(GridAxis& axis, const std::vector<InputSplit>& splits,
                                int32_t smallest_length) {
  for (const InputSplit& split : splits) axis.operand_axes.push_back(split.axis);
  const int32_t most = std::min(splitting_.most_parts, axis.extent);
  for (int32_t parts = 1; parts <= most; ++parts) {
    const std::vector<IndexRange> ranges = axis.Ranges(parts);
    if (static_cast<int32_t>(ranges.size()) != parts) continue;  // as with fewer
    if (parts > 1 && ranges.front().size() < smallest_length) break;
    GridAxis::Option option;
    option.parts = parts;
    for (size_t i = 0; i < splits.size(); ++i) {
      const int32_t own = splits[i].axis;
      AddPieces(splits[i], ranges, own < 0 ? 0 : operands_[i].shape[own], option);
    }
    axis.options.push_back(std::move(option));
  }
  if (axis.options.size() > 1) axes_.push_back(std::move(axis));
}

int64_t WorkingSetGrid::OperandBytes(size_t operand, const Choice& choice) const {
  Shape shape = operands_[operand].shape;
  for (size_t i = 0; i < axes_.size(); ++i) {
    const int32_t axis = axes_[i].operand_axes[operand];
    if (axis < 0) continue;
    shape[axis] = std::min(shape[axis], axes_[i].options[choice[i]].longest[operand]);
  }
  return shape.Elements() * operands_[operand].element_bytes;
}

bool WorkingSetGrid::Accumulates(const Choice& choice) const {
  for (size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].accumulates && choice[i] > 0) return true;
  }
  return false;
}

int64_t WorkingSetGrid::BytesOf(const Choice& choice) const {
  int64_t always = 0;
  int64_t once = 0;
  for (size_t i = 0; i < operands_.size(); ++i) {
    if (!operands_[i].counts) continue;
    (operands_[i].added_once ? once : always) += OperandBytes(i, choice);
  }
  if (!Accumulates(choice)) return always + once + workspace_;
  const int64_t sum = OperandBytes(operands_.size() - 1, choice);
  if (adds_apart_) return std::max(always + once, 3 * sum) + workspace_;
  return always + std::max(once, sum) + workspace_;
}

/// Returns the bytes of the operand that all parts together read or write.
int64_t WorkingSetGrid::TrafficOf(size_t operand, const Choice& choice) const {
  Shape rest = operands_[operand].shape;
  int64_t traffic = operands_[operand].element_bytes;
  for (size_t i = 0; i < axes_.size(); ++i) {
    const GridAxis::Option& option = axes_[i].options[choice[i]];
    const int32_t axis = axes_[i].operand_axes[operand];
    if (axis >= 0) {
      traffic *= option.together[operand];
      rest[axis] = 1;
    } else if (!axes_[i].accumulates || !operands_[operand].added_once) {
      traffic *= option.parts;
    }
  }
  return traffic * rest.Elements();
}

int64_t WorkingSetGrid::PriceOf(const Choice& choice) const {
  int64_t price = 0;
  int64_t starts = 1;
  for (size_t i = 0; i < operands_.size(); ++i) price += TrafficOf(i, choice);
  const int64_t written = TrafficOf(operands_.size() - 1, choice);
  for (size_t i = 0; i < axes_.size(); ++i) {
    const int64_t parts = axes_[i].options[choice[i]].parts;
    starts *= parts;
    if (!axes_[i].accumulates || parts == 1) continue;
    // Of `parts` results all but the first are added to one: read, or read twice and written.
    price += written / parts * (parts - 1) * (adds_apart_ ? 3 : 1);
  }
  return price + starts * kStartBytes;
}

WorkingSetGrid::Choice WorkingSetGrid::ChoiceOf(const GridParts& parts) const {
  Choice choice(axes_.size(), 0);
  for (size_t i = 0; i < axes_.size(); ++i) {
    while (axes_[i].options[choice[i]].parts != parts[i]) ++choice[i];
  }
  return choice;
}

GridParts WorkingSetGrid::PartsOf(const Choice& choice) const {
  GridParts parts;
  for (size_t i = 0; i < axes_.size(); ++i) parts.push_back(axes_[i].options[choice[i]].parts);
  return parts;
}

int64_t WorkingSetGrid::Bytes(const GridParts& parts) const { return BytesOf(ChoiceOf(parts)); }

int64_t WorkingSetGrid::Price(const GridParts& parts) const { return PriceOf(ChoiceOf(parts)); }

/// Calls `visit` for every grid within the board's number of parts.
template <typename Visit>
void WorkingSetGrid::ForEachChoice(const Visit& visit) const {
  Choice choice(axes_.size(), 0);
  while (true) {
    int64_t parts = 1;
    for (size_t i = 0; i < axes_.size(); ++i) parts *= axes_[i].options[choice[i]].parts;
    const bool within = parts <= splitting_.most_parts;
    if (within) visit(choice);
    // Counts up like a number whose last digit is the last axis; a grid of too many parts ends
    // the lowest digit that is not 0, since more of that would be too many as well.
    size_t digit = axes_.size();
    if (!within) {
      while (digit > 0 && choice[digit - 1] == 0) --digit;
      if (digit == 0) return;
      choice[--digit] = 0;
    }
    while (digit > 0 && choice[digit - 1] + 1 == axes_[digit - 1].options.size()) {
      choice[--digit] = 0;
    }
    if (digit == 0) return;
    ++choice[digit - 1];
  }
}

std::optional<WorkingSetGrid::Choice> WorkingSetGrid::FindAlong(size_t axis, int64_t bytes) const {
  Choice choice(axes_.size(), 0);
  for (; choice[axis] < axes_[axis].options.size(); ++choice[axis]) {
    if (BytesOf(choice) <= bytes) return choice;
  }
  return std::nullopt;
}

/// Returns the cheapest grid; an exact one unless another saves a quarter. Among equal prices takes
/// more parts along the axes that are tried first, which are visited later.
std::optional<WorkingSetGrid::Choice> WorkingSetGrid::FindCheapest(int64_t bytes) const {
  struct Best {
    Choice choice;
    int64_t price = std::numeric_limits<int64_t>::max() / 4;
  };
  Best exact;
  Best any;
  ForEachChoice([&](const Choice& choice) {
    if (BytesOf(choice) > bytes) return;
    const int64_t price = PriceOf(choice);
    if (price <= any.price) any = {choice, price};
    if (price <= exact.price && !Accumulates(choice)) exact = {choice, price};
  });
  if (any.choice.empty()) return std::nullopt;
  return 3 * exact.price <= 4 * any.price ? exact.choice : any.choice;
}

std::optional<GridParts> WorkingSetGrid::Find(int64_t bytes) const {
  if (axes_.empty()) return std::nullopt;
  const std::optional<Choice> cheapest = FindCheapest(bytes);
  if (!cheapest.has_value()) return std::nullopt;
  const int64_t least = PriceOf(*cheapest);
  for (size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].accumulates) continue;
    const std::optional<Choice> along = FindAlong(i, bytes);
    if (!along.has_value()) continue;
    const bool is_batch = axes_[i].dimension == Name(SplitDimension::kBatch);
    if (is_batch || 2 * PriceOf(*along) <= 3 * least) return PartsOf(*along);
  }
  return PartsOf(*cheapest);
}

int64_t WorkingSetGrid::Smallest() const {
  int64_t smallest = BytesOf(Choice(axes_.size(), 0));
  ForEachChoice([&](const Choice& choice) { smallest = std::min(smallest, BytesOf(choice)); });
  return smallest;
}

}  // namespace tenon::converter
