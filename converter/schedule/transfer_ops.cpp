#include "converter/schedule/transfer_ops.hpp"

#include <algorithm>

#include "converter/map/kernel_choice.hpp"

namespace tenon::converter {

TransferOps::TransferOps(Graph& graph, Locations& locations, const ProgramProblem& problem,
                         const TimeSchedule& schedule)
    : graph_(graph),
      locations_(locations),
      problem_(problem),
      schedule_(schedule),
      op_of_event_(schedule.events.size(), kNone),
      root_of_hold_(schedule.holds.size(), kNone),
      slow_tensor_(problem.problem.values.size(), kNone),
      is_stored_(schedule.holds.size(), false),
      views_of_(problem.base.size()) {
  for (size_t h = 0; h < schedule.holds.size(); ++h) {
    const FastHold& hold = schedule.holds[h];
    if (hold.kind == HoldKind::kStorage) root_of_hold_[h] = problem.root_of_storage[hold.owner];
  }
  for (const TimeEvent& event : schedule.events) {
    if (event.kind == TimeEventKind::kStore) is_stored_[static_cast<size_t>(event.hold)] = true;
  }
  for (size_t i = 0; i < problem.base.size(); ++i) {
    const auto id = static_cast<TensorId>(i);
    if (problem.base[i] != id) views_of_[static_cast<size_t>(problem.base[i])].push_back(id);
  }
  for (size_t v = 0; v < slow_tensor_.size(); ++v) {
    const TimeValue& value = problem.problem.values[v];
    if (problem.problem.storages[value.storage].slow) slow_tensor_[v] = problem.tensor_of_value[v];
  }
}

Status TransferOps::Run() {
  for (size_t e = 0; e < schedule_.events.size(); ++e) {
    const TimeEvent& event = schedule_.events[e];
    Status status;
    switch (event.kind) {
      case TimeEventKind::kTask:
        op_of_event_[e] = problem_.op_of_task[event.index];
        status = RewriteTask(event.index);
        break;
      case TimeEventKind::kFetch:
        status = AddFetch(event, op_of_event_[e]);
        break;
      case TimeEventKind::kStore:
        status = AddStore(event, op_of_event_[e]);
        break;
    }
    TENON_RETURN_IF_ERROR(status);
  }
  EraseDeadViews();
  return {};
}

/// A tensor with bytes of its own.
void TransferOps::GiveRoot(TensorId id) {
  if (static_cast<size_t>(id) >= locations_.tensors.size()) {
    locations_.tensors.resize(static_cast<size_t>(id) + 1);
  }
  const Tensor& tensor = graph_.tensor(id);
  locations_.tensors[static_cast<size_t>(id)] = {id, 0, DenseStrides(tensor.shape, tensor.layout)};
}

Result<OpId> TransferOps::AddCopy(TensorId from, const std::string& name) {
  TENON_ASSIGN_OR_RETURN(const OpId copy,
                         graph_.AddOp(OpKind::kCopy, name, {from}, Attributes(), {name}));
  UsePortableKernel(graph_.MutableOp(copy));
  if (static_cast<size_t>(copy) >= locations_.elided.size()) {
    locations_.elided.resize(static_cast<size_t>(copy) + 1, false);
  }
  const TensorId made = graph_.op(copy).outputs[0];
  graph_.MutableTensor(made).layout = graph_.tensor(from).layout;
  GiveRoot(made);
  return copy;
}

Status TransferOps::RewriteTask(Index number) {
  const TimeTask& task = problem_.problem.tasks[number];
  const OpId id = problem_.op_of_task[number];
  for (size_t i = 0; i < task.writes.size(); ++i) {
    const int32_t hold = schedule_.write_holds[number][i];
    if (schedule_.holds[static_cast<size_t>(hold)].kind != HoldKind::kWritten) continue;
    TENON_RETURN_IF_ERROR(WriteFast(id, task.writes[i], hold));
  }
  for (size_t i = 0; i < graph_.op(id).inputs.size(); ++i) {
    const TensorId input = graph_.op(id).inputs[i];
    if (input == kNone) continue;
    const TensorId base = problem_.base[static_cast<size_t>(input)];
    const Index value = problem_.value_of_tensor[static_cast<size_t>(base)];
    const auto place = std::find(task.reads.begin(), task.reads.end(), value);
    if (place == task.reads.end()) continue;  // read in place
    const int32_t hold =
        schedule_.read_holds[number][static_cast<size_t>(place - task.reads.begin())];
    if (schedule_.holds[static_cast<size_t>(hold)].kind == HoldKind::kStorage) continue;
    TENON_ASSIGN_OR_RETURN(const TensorId operand,
                           OnCopy(input, base, root_of_hold_[static_cast<size_t>(hold)]));
    graph_.SetInput(id, i, operand);
  }
  return {};
}

/// Makes the op write its output into fast memory. If it is moved from there, the op writes a new
/// tensor, and the transfer writes the one in slow memory.
Status TransferOps::WriteFast(OpId op, Index value, int32_t hold) {
  const TensorId tensor = problem_.tensor_of_value[value];
  TensorId& root = root_of_hold_[static_cast<size_t>(hold)];
  if (!is_stored_[static_cast<size_t>(hold)]) {
    root = tensor;
    GiveRoot(tensor);
    for (const TensorId view : views_of_[static_cast<size_t>(tensor)]) {
      Location& location = locations_.tensors[static_cast<size_t>(view)];
      location.root = tensor;
      location.offset = 0;
    }
    slow_tensor_[value] = kNone;
    return {};
  }
  const Tensor like = graph_.tensor(tensor);
  root = graph_.AddTensor(like.name + ".fast", like.dtype, like.shape);
  graph_.MutableTensor(root).layout = like.layout;
  graph_.MutableTensor(root).producer = op;
  std::vector<TensorId>& outputs = graph_.MutableOp(op).outputs;
  std::replace(outputs.begin(), outputs.end(), tensor, root);
  graph_.MutableTensor(tensor).producer = kNone;
  GiveRoot(root);
  return {};
}

Status TransferOps::AddFetch(const TimeEvent& event, OpId& made) {
  const TensorId from = slow_tensor_[event.index];
  if (from == kNone) return InternalError("a value is fetched that slow memory does not have");
  TENON_ASSIGN_OR_RETURN(made, AddCopy(from, graph_.tensor(from).name + ".fetch"));
  root_of_hold_[static_cast<size_t>(event.hold)] = graph_.op(made).outputs[0];
  return {};
}

Status TransferOps::AddStore(const TimeEvent& event, OpId& made) {
  const TensorId tensor = problem_.tensor_of_value[event.index];
  const FastHold& hold = schedule_.holds[static_cast<size_t>(event.hold)];
  if (hold.kind == HoldKind::kStorage) {
    TENON_ASSIGN_OR_RETURN(made, AddCopy(tensor, graph_.tensor(tensor).name + ".store"));
    slow_tensor_[event.index] = graph_.op(made).outputs[0];
    return {};
  }
  const TensorId from = root_of_hold_[static_cast<size_t>(event.hold)];
  TENON_ASSIGN_OR_RETURN(made, AddCopy(from, graph_.tensor(tensor).name + ".store"));
  // The copy writes the tensor itself, which has lost its producer, instead of one of its own.
  const TensorId own = graph_.op(made).outputs[0];
  graph_.MutableOp(made).outputs[0] = tensor;
  graph_.MutableTensor(tensor).producer = made;
  graph_.MutableTensor(own).producer = kNone;
  graph_.EraseTensor(own);
  return {};
}

/// `shape` is the tensor `base` in another shape. Returns the same view on a copy of `base`.
Result<TensorId> TransferOps::OnCopy(TensorId shape, TensorId base, TensorId copy) {
  if (copy == base) return shape;
  std::vector<TensorId> chain;
  for (TensorId id = shape; id != base; id = graph_.op(graph_.tensor(id).producer).inputs[0]) {
    chain.push_back(id);
  }
  std::reverse(chain.begin(), chain.end());
  TensorId last = copy;
  for (const TensorId id : chain) {
    const auto known = seen_on_copy_.find({id, copy});
    if (known != seen_on_copy_.end()) {
      last = known->second;
      continue;
    }
    const Op view = graph_.op(graph_.tensor(id).producer);
    TENON_ASSIGN_OR_RETURN(
        const OpId made,
        graph_.AddOp(view.kind, view.name, {last}, view.attributes, {graph_.tensor(id).name}));
    graph_.MutableOp(made).backend = view.backend;
    graph_.MutableOp(made).kernel = view.kernel;
    graph_.MutableOp(made).caps = view.caps;
    if (static_cast<size_t>(made) >= locations_.elided.size()) {
      locations_.elided.resize(static_cast<size_t>(made) + 1, false);
    }
    locations_.elided[static_cast<size_t>(made)] = true;
    last = graph_.op(made).outputs[0];
    graph_.MutableTensor(last).layout = graph_.tensor(id).layout;
    GiveRoot(last);
    Location& location = locations_.tensors[static_cast<size_t>(last)];
    location.root = copy;
    location.strides = locations_.at(id).strides;
    seen_on_copy_[{id, copy}] = last;
  }
  return last;
}

/// Removes views that have no readers, except those on which others are located.
void TransferOps::EraseDeadViews() {
  std::vector<bool> holds_others(locations_.tensors.size(), false);
  for (const TensorId id : graph_.Tensors()) {
    const TensorId root = locations_.at(id).root;
    if (root != id) holds_others[static_cast<size_t>(root)] = true;
  }
  std::vector<OpId> order = graph_.OpOrder();
  std::reverse(order.begin(), order.end());
  for (const OpId id : order) {
    if (!locations_.elided[static_cast<size_t>(id)]) continue;
    const std::vector<TensorId>& outputs = graph_.op(id).outputs;
    if (std::none_of(outputs.begin(), outputs.end(), [&](TensorId output) {
          return graph_.IsRead(output) || holds_others[static_cast<size_t>(output)];
        })) {
      graph_.EraseOp(id);
    }
  }
}

}  // namespace tenon::converter
