#include "converter/ir/graph.hpp"

#include <cassert>

namespace tenon::converter {
namespace {

// Labels of neighbours in a new order differ by this; an insertion takes the middle.
constexpr int64_t kLabelGap = int64_t{1} << 20;

}  // namespace

// --- building -----------------------------------------------------------------------------------

std::string Graph::UniqueName(std::string_view wanted) {
  std::string base(wanted.empty() ? std::string_view("tensor") : wanted);
  if (!names_.contains(base)) return base;
  // Remembering the last suffix avoids a quadratic search for thousands of equal names.
  int& suffix = next_suffix_[base];
  std::string candidate;
  do {
    candidate = fmt::format("{}_{}", base, ++suffix);
  } while (names_.contains(candidate));
  return candidate;
}

TensorId Graph::AddTensor(std::string_view tensor_name, DType dtype, const Shape& shape) {
  const auto id = static_cast<TensorId>(tensors_.size());
  std::string unique = UniqueName(tensor_name);
  TensorSlot& slot = tensors_.emplace_back();
  slot.tensor.name = unique;
  slot.tensor.dtype = dtype;
  slot.tensor.shape = shape;
  slot.alive = true;
  names_.emplace(std::move(unique), id);
  return id;
}

TensorId Graph::AddConstant(std::string_view constant_name, DType dtype, const Shape& shape,
                            std::vector<std::byte> bytes) {
  return AddConstant(constant_name, dtype, shape,
                     std::make_shared<const std::vector<std::byte>>(std::move(bytes)));
}

TensorId Graph::AddConstant(std::string_view constant_name, DType dtype, const Shape& shape,
                            Bytes bytes) {
  const TensorId id = AddTensor(constant_name, dtype, shape);
  constant_bytes_ += static_cast<int64_t>(bytes->size());
  MutableTensor(id).constant = std::move(bytes);
  return id;
}

void Graph::AddInput(TensorId id, std::string_view port_name) {
  ++tensors_[static_cast<size_t>(id)].input_ports;
  inputs_.push_back({std::string(port_name), id});
}

void Graph::AddOutput(TensorId id, std::string_view port_name) {
  tensors_[static_cast<size_t>(id)].output_ports.push_back(outputs_.size());
  outputs_.push_back({std::string(port_name), id});
}

// --- reading ------------------------------------------------------------------------------------

bool Graph::IsTensor(TensorId id) const {
  return id >= 0 && static_cast<size_t>(id) < tensors_.size() &&
         tensors_[static_cast<size_t>(id)].alive;
}

bool Graph::IsOp(OpId id) const {
  return id >= 0 && static_cast<size_t>(id) < ops_.size() && ops_[static_cast<size_t>(id)].alive;
}

const Tensor& Graph::tensor(TensorId id) const {
  assert(IsTensor(id));
  return tensors_[static_cast<size_t>(id)].tensor;
}

Tensor& Graph::MutableTensor(TensorId id) {
  assert(IsTensor(id));
  return tensors_[static_cast<size_t>(id)].tensor;
}

const Op& Graph::op(OpId id) const {
  assert(IsOp(id));
  return ops_[static_cast<size_t>(id)].op;
}

Op& Graph::MutableOp(OpId id) {
  assert(IsOp(id));
  Touch(id);
  return ops_[static_cast<size_t>(id)].op;
}

std::vector<TensorId> Graph::Tensors() const {
  std::vector<TensorId> ids;
  ids.reserve(tensors_.size());
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].alive) ids.push_back(static_cast<TensorId>(i));
  }
  return ids;
}

TensorId Graph::FindTensor(std::string_view tensor_name) const {
  const auto found = names_.find(tensor_name);
  return found == names_.end() ? kNone : found->second;
}

const Graph::Port* Graph::FindPort(bool output, std::string_view port_name) const {
  const std::vector<Port>& ports = output ? outputs_ : inputs_;
  const auto found = std::find_if(ports.begin(), ports.end(),
                                  [&](const Port& port) { return port.name == port_name; });
  return found == ports.end() ? nullptr : &*found;
}

bool Graph::IsInput(TensorId id) const {
  return IsTensor(id) && tensors_[static_cast<size_t>(id)].input_ports > 0;
}

bool Graph::IsOutput(TensorId id) const {
  return IsTensor(id) && !tensors_[static_cast<size_t>(id)].output_ports.empty();
}

std::vector<OpId> Graph::Consumers(TensorId id) const {
  assert(IsTensor(id));
  Sync();
  const auto label = [this](OpId reader) { return ops_[static_cast<size_t>(reader)].label; };
  std::vector<OpId> readers;
  for (const Use& use : tensors_[static_cast<size_t>(id)].uses) readers.push_back(use.op);
  std::sort(readers.begin(), readers.end(),
            [&](OpId a, OpId b) { return label(a) != label(b) ? label(a) < label(b) : a < b; });
  readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
  return readers;
}

bool Graph::IsRead(TensorId id) const {
  Sync();
  return IsOutput(id) || !tensors_[static_cast<size_t>(id)].uses.empty();
}

OpId Graph::OnlyConsumer(TensorId id) const {
  assert(IsTensor(id));
  Sync();
  const TensorSlot& slot = tensors_[static_cast<size_t>(id)];
  if (slot.uses.empty() || !slot.output_ports.empty()) return kNone;
  const OpId reader = slot.uses.front().op;
  const auto is_reader = [&](const Use& use) { return use.op == reader; };
  return std::all_of(slot.uses.begin(), slot.uses.end(), is_reader) ? reader : kNone;
}

bool Graph::IsBefore(OpId a, OpId b) const {
  assert(IsOp(a) && IsOp(b));
  return ops_[static_cast<size_t>(a)].label < ops_[static_cast<size_t>(b)].label;
}

// --- changing -----------------------------------------------------------------------------------

void Graph::SetInput(OpId id, size_t index, TensorId input) {
  assert(IsOp(id));
  OpSlot& slot = ops_[static_cast<size_t>(id)];
  slot.op.inputs[index] = input;
  if (slot.touched || index >= slot.indexed.size()) return Touch(id);  // Sync will see it
  RemoveUse(id, index);
  AddUse(id, index, input);
}

void Graph::RenameTensor(TensorId id, std::string_view new_name) {
  std::string& current = MutableTensor(id).name;
  if (current == new_name) return;
  const std::string wanted(new_name);  // the view may be of the name itself
  names_.erase(current);
  current = UniqueName(wanted);
  names_.emplace(current, id);
}

void Graph::ReplaceUses(TensorId from, TensorId to) {
  if (from == to) return;
  assert(IsTensor(from));
  Sync();
  const TensorSlot& slot = tensors_[static_cast<size_t>(from)];
  while (!slot.uses.empty()) {
    const Use use = slot.uses.back();
    SetInput(use.op, static_cast<size_t>(use.input), to);
  }
  while (!slot.output_ports.empty()) SetPortTensor(true, slot.output_ports.back(), to);
}

void Graph::EraseOp(OpId id) {
  assert(IsOp(id));
  OpSlot& slot = ops_[static_cast<size_t>(id)];
  slot.op.inputs.clear();
  Touch(id);
  Sync();
  for (TensorId output : slot.op.outputs) {
    if (!IsTensor(output)) continue;
    MutableTensor(output).producer = kNone;
    EraseTensor(output);
  }
  order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(PositionOf(id)));
  slot.op = Op{};
  slot.alive = false;
}

void Graph::EraseTensor(TensorId id) {
  // A caller that violates this leaves a reader of a dead tensor, which Verify reports.
  assert(!IsRead(id) && tensor(id).producer == kNone);
  TensorSlot& slot = tensors_[static_cast<size_t>(id)];
  names_.erase(slot.tensor.name);
  slot.tensor = Tensor{};
  slot.alive = false;
}

void Graph::MakeConstant(TensorId id, std::vector<std::byte> bytes) {
  Tensor& made = MutableTensor(id);
  if (made.producer != kNone) {
    const TensorId unread = AddTensor(made.name + "_computed", made.dtype, made.shape);
    MutableTensor(unread).layout = made.layout;
    MutableTensor(unread).producer = made.producer;
    std::vector<TensorId>& outputs = MutableOp(made.producer).outputs;
    std::replace(outputs.begin(), outputs.end(), id, unread);
    made.producer = kNone;
  }
  made.layout = Layout::kRowMajor;
  constant_bytes_ += static_cast<int64_t>(bytes.size());
  made.constant = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
}

void Graph::SetPortQuantization(bool output, size_t index, float scale, int32_t zero_point) {
  Port& port = output ? outputs_[index] : inputs_[index];
  port.scale = scale;
  port.zero_point = zero_point;
}

void Graph::SetPortTensor(bool output, size_t index, TensorId id) {
  Port& port = output ? outputs_[index] : inputs_[index];
  TensorSlot& old_slot = tensors_[static_cast<size_t>(port.tensor)];
  TensorSlot& new_slot = tensors_[static_cast<size_t>(id)];
  port.tensor = id;
  if (output) {
    std::vector<size_t>& ports = old_slot.output_ports;
    // ReplaceUses takes the last one, so one tensor behind many outputs is fast.
    const auto found = std::find(ports.rbegin(), ports.rend(), index);
    std::swap(*found, ports.back());
    ports.pop_back();
    new_slot.output_ports.push_back(index);
  } else {
    --old_slot.input_ports;
    ++new_slot.input_ports;
  }
}

// --- order --------------------------------------------------------------------------------------

size_t Graph::PositionOf(OpId id) const {
  const auto label = [this](OpId op) { return ops_[static_cast<size_t>(op)].label; };
  auto found = std::lower_bound(order_.begin(), order_.end(), id,
                                [&](OpId a, OpId b) { return label(a) < label(b); });
  // Labels only fail to help in an order that Verify refuses.
  if (found == order_.end() || *found != id) found = std::find(order_.begin(), order_.end(), id);
  return static_cast<size_t>(found - order_.begin());
}

void Graph::RelabelOrder() {
  int64_t label = 0;
  for (OpId id : order_) {
    if (IsOp(id)) ops_[static_cast<size_t>(id)].label = label += kLabelGap;
  }
}

void Graph::PlaceInOrder(OpId id, OpId position) {
  const size_t at = position == kNone ? order_.size() : PositionOf(position);
  const auto label = [this](size_t index) {
    return ops_[static_cast<size_t>(order_[index])].label;
  };
  const int64_t before = at == 0 ? 0 : label(at - 1);
  const int64_t after = at < order_.size() ? label(at) : before + 2 * kLabelGap;
  ops_[static_cast<size_t>(id)].label = before + (after - before) / 2;
  order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(at), id);
  if (after - before < 2) RelabelOrder();
}

void Graph::MoveOp(OpId id, OpId position) {
  assert(IsOp(id) && id != position);
  order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(PositionOf(id)));
  PlaceInOrder(id, position);
}

void Graph::SetOrder(std::vector<OpId> order) {
  order_ = std::move(order);
  RelabelOrder();
}

// --- use lists ----------------------------------------------------------------------------------

void Graph::Touch(OpId id) {
  OpSlot& slot = ops_[static_cast<size_t>(id)];
  if (slot.touched) return;
  slot.touched = true;
  touched_.push_back(id);
}

void Graph::Sync() const {
  for (OpId id : touched_) {
    OpSlot& slot = ops_[static_cast<size_t>(id)];
    slot.touched = false;
    if (!IsIndexed(slot)) IndexInputs(id);
  }
  touched_.clear();
}

bool Graph::IsIndexed(const OpSlot& slot) {
  return std::equal(slot.op.inputs.begin(), slot.op.inputs.end(), slot.indexed.begin(),
                    slot.indexed.end(),
                    [](TensorId a, const IndexedInput& b) { return a == b.tensor; });
}

void Graph::IndexInputs(OpId id) const {
  OpSlot& slot = ops_[static_cast<size_t>(id)];
  const std::vector<TensorId>& inputs = slot.op.inputs;
  for (size_t i = inputs.size(); i < slot.indexed.size(); ++i) RemoveUse(id, i);
  slot.indexed.resize(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (slot.indexed[i].tensor == inputs[i]) continue;
    RemoveUse(id, i);
    AddUse(id, i, inputs[i]);
  }
}

void Graph::AddUse(OpId id, size_t input, TensorId tensor) const {
  IndexedInput& indexed = ops_[static_cast<size_t>(id)].indexed[input];
  indexed = {tensor, kNoUse};
  // The input is absent, or invalid, which Verify reports.
  if (tensor < 0 || static_cast<size_t>(tensor) >= tensors_.size()) return;
  std::vector<Use>& uses = tensors_[static_cast<size_t>(tensor)].uses;
  indexed.use = uses.size();
  uses.push_back({id, static_cast<int32_t>(input)});
}

/// Moves the last use to the place of the removed one, so that no list is searched or shifted.
void Graph::RemoveUse(OpId id, size_t input) const {
  const IndexedInput removed = ops_[static_cast<size_t>(id)].indexed[input];
  if (removed.use == kNoUse) return;
  std::vector<Use>& uses = tensors_[static_cast<size_t>(removed.tensor)].uses;
  const Use last = uses.back();
  uses.pop_back();
  if (removed.use == uses.size()) return;
  uses[removed.use] = last;
  ops_[static_cast<size_t>(last.op)].indexed[static_cast<size_t>(last.input)].use = removed.use;
}

}  // namespace tenon::converter
