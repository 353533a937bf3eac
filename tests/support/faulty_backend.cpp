#include "tests/support/faulty_backend.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace tenon::test {
namespace {

constexpr size_t kMostKernels = 400;
constexpr Deadline kPatience = kNoDeadline;

/// Where the elements of a view lie, in bytes from its data, in row-major order.
std::vector<size_t> PlacesIn(const TensorView& view) {
  std::vector<size_t> places = {0};
  const auto element = static_cast<size_t>(DTypeBytes(view.dtype));
  for (int axis = 0; axis < view.rank; ++axis) {
    std::vector<size_t> wider;
    for (const size_t place : places) {
      for (int32_t i = 0; i < view.dims[axis]; ++i) {
        wider.push_back(place +
                        static_cast<size_t>(i) * static_cast<size_t>(view.strides[axis]) * element);
      }
    }
    places = std::move(wider);
  }
  return places;
}

size_t BytesOf(const TensorView& view) {
  const std::vector<size_t> places = PlacesIn(view);
  if (places.empty()) return 0;
  return *std::max_element(places.begin(), places.end()) +
         static_cast<size_t>(DTypeBytes(view.dtype));
}

template <typename T>
T Read(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <typename T>
void Write(uint8_t* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

float LargestIn(const uint8_t* data, const std::vector<size_t>& places) {
  float largest = 0;
  for (const size_t place : places) {
    largest = std::max(largest, std::abs(Read<float>(data + place)));
  }
  return largest;
}

void SpoilFloats(uint8_t* data, const std::vector<size_t>& places, FaultKind kind, size_t chosen) {
  const float largest = LargestIn(data, places);
  for (size_t i = 0; i < places.size(); ++i) {
    uint8_t* const at = data + places[i];
    const auto value = Read<float>(at);
    if (kind == FaultKind::kElement && i == chosen) Write(at, value + 0.25F * largest + 0.01F);
    if (kind == FaultKind::kEvery) Write(at, value * 1.001F);
    if (kind == FaultKind::kWrapped && std::abs(value) > 0.9F * largest) Write(at, -value);
  }
}

void SpoilBytes(uint8_t* data, const std::vector<size_t>& places, FaultKind kind, size_t chosen) {
  for (size_t i = 0; i < places.size(); ++i) {
    uint8_t& byte = data[places[i]];
    if (kind == FaultKind::kElement && i == chosen) byte ^= 1U;
    if (kind == FaultKind::kEvery && byte != 127 && byte != 255) ++byte;
    if (kind == FaultKind::kWrapped && (byte & 127U) > 112) byte ^= 128U;
  }
}

/// What all types of elements have in common.
void SpoilAny(uint8_t* data, const std::vector<size_t>& places, size_t element, FaultKind kind,
              size_t chosen) {
  const size_t tail = std::max<size_t>(1, places.size() / 16);
  if (kind == FaultKind::kTail) {
    for (size_t i = places.size() - tail; i < places.size(); ++i) {
      std::memset(data + places[i], 0, element);
    }
  }
  if (kind == FaultKind::kSwapped && places.size() > 1) {
    const size_t other = chosen + 1 < places.size() ? chosen + 1 : 0;
    std::swap_ranges(data + places[chosen], data + places[chosen] + element, data + places[other]);
  }
}

void Spoil(const TensorView& view, uint8_t* data, const Fault& fault) {
  const std::vector<size_t> places = PlacesIn(view);
  if (places.empty()) return;
  const size_t chosen = std::mt19937(fault.seed)() % places.size();
  const auto element = static_cast<size_t>(DTypeBytes(view.dtype));
  SpoilAny(data, places, element, fault.kind, chosen);
  if (view.dtype == DType::kF32) SpoilFloats(data, places, fault.kind, chosen);
  if (element == 1) SpoilBytes(data, places, fault.kind, chosen);
}

/// A constant with one element changed: positive ones stay so.
std::vector<uint8_t> ChangedConstant(const TensorView& view, uint32_t seed) {
  const std::vector<size_t> places = PlacesIn(view);
  const auto* data = static_cast<const uint8_t*>(view.data);
  std::vector<uint8_t> bytes(data, data + BytesOf(view));
  uint8_t* const at = bytes.data() + places[seed % places.size()];
  switch (view.dtype) {
    case DType::kF32:
      Write(at, 1.5F * Read<float>(at) + 0.25F * LargestIn(data, places));
      break;
    case DType::kI32:
      Write(at, Read<int32_t>(at) ^ 1024);
      break;
    default:
      *at ^= 32U;
  }
  return bytes;
}

bool CanChange(const TensorView& view) {
  const bool has_type = view.dtype == DType::kF32 || view.dtype == DType::kI32 ||
                        view.dtype == DType::kI8 || view.dtype == DType::kU8;
  return view.data != nullptr && has_type && view.Elements() > 0;
}

}  // namespace

struct FaultyBackend::State {
  const Backend* good = nullptr;
  Backend backend{};
  std::vector<KernelEntry> kernels;
  Fault fault;
  bool has_fault = false;
  // What the check of the op that is concerned has found to be possible.
  std::optional<std::vector<int32_t>> attributes;
  int32_t constant = -1;  ///< number of the tensor; -1: none
  std::vector<uint8_t> constant_bytes;

  [[nodiscard]] bool Concerns(const OpCall& op) const {
    return has_fault && !op.output_ids.empty() && op.output_ids[0] == fault.tensor;
  }
  [[nodiscard]] const KernelEntry& original(size_t index) const { return good->kernels[index]; }
  void Prepare(const KernelEntry& kernel, const KernelSetup& setup);
  void PrepareAttributes(const KernelEntry& kernel, const KernelSetup& setup);
  void PrepareConstant(const KernelEntry& kernel, const KernelSetup& setup);
};

namespace {

FaultyBackend::State* now = nullptr;

/// A call as the fault has it.
class WrongCall {
 public:
  explicit WrongCall(const OpCall& right) : call_(right) {
    if (!now->Concerns(right)) return;
    if (now->attributes) call_.attributes = now->attributes->data();
    if (now->constant < 0) return;
    int32_t most = now->constant;
    for (const int32_t id : right.input_ids) most = std::max(most, id);
    for (const int32_t id : right.output_ids) most = std::max(most, id);
    tensors_.assign(right.tensors, right.tensors + most + 1);
    tensors_[static_cast<size_t>(now->constant)].data = now->constant_bytes.data();
    call_.tensors = tensors_.data();
  }
  WrongCall(const WrongCall&) = delete;
  WrongCall& operator=(const WrongCall&) = delete;
  [[nodiscard]] const OpCall& call() const { return call_; }

 private:
  OpCall call_;
  std::vector<TensorView> tensors_;
};

KernelSetup WithCall(const KernelSetup& setup, const OpCall& call) {
  KernelSetup wrong = setup;
  wrong.op = call;
  return wrong;
}

bool Takes(const KernelEntry& kernel, const KernelSetup& setup) {
  return CheckOpCall(*kernel.row, setup.op).ok() && kernel.check(setup).ok();
}

/// A device's output comes to the host, is changed, and goes back.
Status SpoilOnDevice(const DeviceApi& api, const KernelCall& call) {
  const TensorView& view = call.op.Output();
  std::vector<uint8_t> copy(BytesOf(view));
  const SharedTensor shared{&view, copy.data()};
  void* event = nullptr;
  TENON_RETURN_IF_ERROR(api.signal(call.queue, shared, &event));
  TENON_RETURN_IF_ERROR(api.drain(call.queue, kPatience));
  TENON_RETURN_IF_ERROR(api.wait(call.queue, event, kPatience));
  Spoil(view, copy.data(), now->fault);
  TENON_RETURN_IF_ERROR(api.upload(call.queue, shared));
  return api.drain(call.queue, kPatience);
}

Status CheckOriginal(size_t index, const KernelSetup& setup) {
  const KernelEntry& kernel = now->original(index);
  TENON_RETURN_IF_ERROR(kernel.check(setup));
  if (now->Concerns(setup.op)) now->Prepare(kernel, setup);
  return OkStatus();
}

Status LoadOriginal(size_t index, const KernelSetup& setup, void** shared) {
  const WrongCall wrong(setup.op);
  return now->original(index).load(WithCall(setup, wrong.call()), shared);
}

Status OpenOriginal(size_t index, const KernelSetup& setup, void* shared, void** state) {
  const WrongCall wrong(setup.op);
  return now->original(index).open(WithCall(setup, wrong.call()), shared, state);
}

Status RunOriginal(size_t index, const KernelCall& call) {
  const KernelEntry& kernel = now->original(index);
  if (!now->Concerns(call.op)) return kernel.run(call);
  if (now->fault.kind == FaultKind::kStale) return OkStatus();
  const WrongCall wrong(call.op);
  KernelCall changed = call;
  changed.op = wrong.call();
  TENON_RETURN_IF_ERROR(kernel.run(changed));
  if (now->good->device != nullptr) return SpoilOnDevice(*now->good->device, call);
  Spoil(call.op.Output(), call.op.Output().As<uint8_t>(), now->fault);
  return OkStatus();
}

/// Entries are functions without state: one of each kind for every index, with nothing in it but
/// the index, since there are hundreds.
template <size_t kIndex>
void Wrap(std::vector<KernelEntry>& kernels) {
  if (kIndex >= kernels.size()) return;
  KernelEntry& entry = kernels[kIndex];
  entry.check = [](const KernelSetup& setup) { return CheckOriginal(kIndex, setup); };
  if (entry.load != nullptr) {
    entry.load = [](const KernelSetup& setup, void** shared) {
      return LoadOriginal(kIndex, setup, shared);
    };
  }
  if (entry.open != nullptr) {
    entry.open = [](const KernelSetup& setup, void* shared, void** state) {
      return OpenOriginal(kIndex, setup, shared, state);
    };
  }
  entry.run = [](const KernelCall& call) { return RunOriginal(kIndex, call); };
  entry.packing_key = nullptr;  // what a fault concerns, no other op shares
}

template <size_t... kIndices>
void WrapAll(std::vector<KernelEntry>& kernels, std::index_sequence<kIndices...> /*indices*/) {
  (Wrap<kIndices>(kernels), ...);
}

}  // namespace

/// The last check that succeeds is that of the kernel that runs the op.
void FaultyBackend::State::Prepare(const KernelEntry& kernel, const KernelSetup& setup) {
  attributes.reset();
  constant = -1;
  if (fault.kind == FaultKind::kAttribute) PrepareAttributes(kernel, setup);
  if (fault.kind == FaultKind::kConstant) PrepareConstant(kernel, setup);
}

/// A word one up, one down or with another bit, that the op's rule and the kernel take.
void FaultyBackend::State::PrepareAttributes(const KernelEntry& kernel, const KernelSetup& setup) {
  const size_t words = kernel.row->attribute_words;
  const auto* right = static_cast<const int32_t*>(setup.op.attributes);
  std::mt19937 random(fault.seed);
  constexpr int kTries = 200;
  for (int i = 0; i < kTries && words > 0; ++i) {
    std::vector<int32_t> wrong(right, right + words);
    int32_t& word = wrong[random() % words];
    const uint32_t bit = 1U << random() % 24;
    const int32_t changes[] = {word + 1, word - 1,
                               static_cast<int32_t>(static_cast<uint32_t>(word) ^ bit)};
    word = changes[random() % 3];
    KernelSetup changed = setup;
    changed.op.attributes = wrong.data();
    if (!Takes(kernel, changed)) continue;
    attributes = std::move(wrong);
    return;
  }
}

void FaultyBackend::State::PrepareConstant(const KernelEntry& kernel, const KernelSetup& setup) {
  std::vector<int32_t> constants;
  for (const int32_t id : setup.op.input_ids) {
    if (id >= 0 && CanChange(setup.op.tensors[id])) constants.push_back(id);
  }
  if (constants.empty()) return;
  constant = constants[fault.seed % constants.size()];
  constant_bytes = ChangedConstant(setup.op.tensors[constant], fault.seed / 7);
  const WrongCall wrong(setup.op);
  if (!Takes(kernel, WithCall(setup, wrong.call()))) constant = -1;
}

FaultyBackend::FaultyBackend(const tenon_backend* good) : state_(std::make_unique<State>()) {
  state_->good = reinterpret_cast<const Backend*>(good);
  state_->backend = *state_->good;
  for (const KernelEntry& kernel : state_->good->kernels) state_->kernels.push_back(kernel);
  if (state_->kernels.size() > kMostKernels) std::abort();  // more are to be written in
  WrapAll(state_->kernels, std::make_index_sequence<kMostKernels>());
  state_->backend.kernels = {state_->kernels.data(), state_->kernels.size()};
  now = state_.get();
}

FaultyBackend::~FaultyBackend() { now = nullptr; }

const tenon_backend* FaultyBackend::handle() const {
  return reinterpret_cast<const tenon_backend*>(&state_->backend);
}

void FaultyBackend::Inject(const Fault& fault) {
  state_->fault = fault;
  state_->has_fault = true;
  state_->attributes.reset();
  state_->constant = -1;
}

}  // namespace tenon::test
