// Random plans against a slow oracle that works on single bytes and a closed happens-before
// relation, and shares no code with the check.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

#include "runtime/base/config.hpp"
#include "runtime/ops/op_kind.hpp"
#include "tests/unit/runtime/format/plan_fixture.hpp"

using namespace tenon;        // NOLINT
using namespace tenon::test;  // NOLINT

namespace {

constexpr int32_t kColumns = 4;

/// [rows, kColumns] u8 storage with boxes as tensors.
struct Generator {
  std::mt19937 random;
  PlanSpec spec;
  std::vector<size_t> worker_of;
  std::vector<uint32_t> step_of;

  explicit Generator(uint32_t seed) : random(seed) {}

  size_t Below(size_t limit) { return random() % limit; }
  bool Chance(size_t percent) { return Below(100) < percent; }

  uint32_t Box(uint32_t storage, int32_t row, int32_t rows, int32_t column, int32_t columns) {
    return spec.AddTensor(storage, {rows, columns}, static_cast<uint64_t>(row * kColumns + column),
                          {kColumns, 1}, DType::kU8);
  }
  int32_t Rows(uint32_t storage) {
    return static_cast<int32_t>(spec.storages[storage].bytes) / kColumns;
  }
  uint32_t Whole(uint32_t storage) { return Box(storage, 0, Rows(storage), 0, kColumns); }
  uint32_t AnyBox(uint32_t storage) {
    const int32_t rows = Rows(storage);
    const auto row = static_cast<int32_t>(Below(static_cast<size_t>(rows)));
    const auto column = static_cast<int32_t>(Below(kColumns));
    return Box(storage, row, 1 + static_cast<int32_t>(Below(static_cast<size_t>(rows - row))),
               column, 1 + static_cast<int32_t>(Below(static_cast<size_t>(kColumns - column))));
  }
  uint32_t NewStorage() {
    return spec.AddStorage(0, static_cast<uint64_t>((1 + Below(3)) * kColumns));
  }

  void AddRandomOp(const std::vector<uint32_t>& reads, uint32_t writes) {
    const size_t worker = Below(spec.workers.size());
    std::vector<WaitInfo> waits;
    for (size_t op = 0; op < spec.ops.size(); ++op) {
      bool feeds = false;
      for (const uint32_t read : reads) {
        feeds |= spec.tensors[static_cast<size_t>(spec.ops[op].outputs[0])].storage ==
                 spec.tensors[read].storage;
      }
      if (kHasWorkers && ((feeds && Chance(98)) || Chance(8))) {
        waits.push_back({static_cast<uint16_t>(worker_of[op]), step_of[op]});
      }
    }
    worker_of.push_back(worker);
    step_of.push_back(static_cast<uint32_t>(spec.workers[worker].size()));
    spec.AddOp(reads, {writes}, worker, waits, Below(spec.segments.size()));
  }

  void Place() {
    uint64_t end = 0;
    for (size_t s = 0; s < spec.storages.size(); ++s) {
      spec.storages[s].offset = end;
      if (s > 0 && Chance(25)) {
        const auto& other = spec.storages[Below(s)];
        spec.storages[s].offset = other.offset + (Chance(40) ? Below(other.bytes) : 0);
      }
      end = std::max(end, spec.storages[s].offset + spec.storages[s].bytes);
    }
    spec.arenas[0].bytes = end;
  }

  PlanSpec Make() {
    spec.workers.resize(kHasWorkers ? 1 + Below(3) : 1);
    spec.segments.resize(Chance(60) ? 1 : 1 + Below(3));
    std::vector<uint32_t> written = {NewStorage()};
    spec.AddInput(Chance(95) ? Whole(0) : AnyBox(0));
    const size_t ops = 1 + Below(7);
    for (size_t i = 0; i < ops; ++i) {
      std::vector<uint32_t> reads;
      for (size_t k = 1 + Below(2); k > 0; --k) {
        const uint32_t storage = written[Below(written.size())];
        reads.push_back(Chance(60) ? Whole(storage) : AnyBox(storage));
      }
      const uint32_t storage = NewStorage();
      const size_t shape = Below(10);
      if (shape < 6) {
        AddRandomOp(reads, Whole(storage));
        MaybeInPlace();
      } else if (shape < 9) {  // two parts, side by side or one below the other
        const bool side = Rows(storage) == 1 || Chance(50);
        AddRandomOp(reads,
                    side ? Box(storage, 0, Rows(storage), 0, 2) : Box(storage, 0, 1, 0, kColumns));
        AddRandomOp({reads[0]}, side ? Box(storage, 0, Rows(storage), 2, 2)
                                     : Box(storage, 1, Rows(storage) - 1, 0, kColumns));
      } else {
        AddRandomOp(reads, AnyBox(storage));
      }
      written.push_back(storage);
    }
    spec.AddOutput(Whole(written.back()));
    if (Chance(20)) spec.AddOutput(Whole(written[Below(written.size())]));
    Place();
    PlaceInPlace();
    if (kHasWorkers && Chance(10)) {
      auto& steps = spec.workers[Below(spec.workers.size())];
      if (!steps.empty()) {
        steps[Below(steps.size())].waits.push_back(
            {static_cast<uint16_t>(worker_of[0]), step_of[Below(1)]});
      }
    }
    if (Chance(5)) Swap();
    return spec;
  }

  void Swap() {
    auto& steps = spec.workers[Below(spec.workers.size())];
    if (steps.size() > 1) std::swap(steps[0].op, steps[1].op);
  }

  void MaybeInPlace() {
    OpSpec& op = spec.ops.back();
    auto& output = spec.storages[spec.tensors[static_cast<size_t>(op.outputs[0])].storage];
    const auto& input = spec.storages[spec.tensors[static_cast<size_t>(op.inputs[0])].storage];
    op.kind = static_cast<uint16_t>(OpKind::kBinary);  // whose output may take over both inputs
    if (output.bytes == input.bytes && Chance(60)) op.in_place = 0;
  }
  void PlaceInPlace() {
    for (const OpSpec& op : spec.ops) {
      if (op.in_place < 0 || Chance(10)) continue;
      spec.storages[spec.tensors[static_cast<size_t>(op.outputs[0])].storage].offset =
          spec.storages[spec.tensors[static_cast<size_t>(op.inputs[0])].storage].offset;
    }
    uint64_t end = 0;
    for (const auto& s : spec.storages) end = std::max(end, s.offset + s.bytes);
    spec.arenas[0].bytes = end;
  }
};

struct Use {
  size_t op;  // ops are 0..n-1, n is the start, n + 1 the end
  uint32_t tensor;
};

class Oracle {
 public:
  explicit Oracle(const PlanSpec& spec) : spec_(spec), ops_(spec.ops.size()) {}

  bool Passes() {
    CloseOrder();
    for (size_t i = 0; i < ops_; ++i) {
      if (before_[i][i]) return false;
    }
    ListUses();
    return WritersAreApart() && ReadersAreServed() && StoragesTakeTurns() &&
           (!kHasWorkers || SegmentsAreAcyclic());
  }

  /// Some storages share bytes while parts of both are in use.
  bool AreInterleaved() const {
    for (size_t s = 0; s < writes_.size(); ++s) {
      for (size_t t = 0; t < s; ++t) {
        const auto& a = spec_.storages[s];
        const auto& b = spec_.storages[t];
        if (a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset) continue;
        if (!AreApartInTime(s, t) && !AreApartInTime(t, s)) return true;
      }
    }
    return false;
  }

 private:
  void CloseOrder() {
    before_.assign(ops_ + 2, std::vector<bool>(ops_ + 2, false));
    for (const auto& steps : spec_.workers) {
      for (size_t i = 0; i < steps.size(); ++i) {
        if (i > 0) before_[steps[i - 1].op][steps[i].op] = true;
        for (const WaitInfo& wait : steps[i].waits) {
          before_[spec_.workers[wait.worker][wait.step].op][steps[i].op] = true;
        }
      }
    }
    for (size_t i = 0; i < ops_; ++i) before_[ops_][i] = before_[i][ops_ + 1] = true;
    before_[ops_][ops_ + 1] = true;
    for (size_t k = 0; k < ops_ + 2; ++k) {
      for (size_t i = 0; i < ops_ + 2; ++i) {
        for (size_t j = 0; j < ops_ + 2; ++j) {
          if (before_[i][k] && before_[k][j]) before_[i][j] = true;
        }
      }
    }
  }

  void ListUses() {
    writes_.resize(spec_.storages.size());
    reads_.resize(spec_.storages.size());
    const auto add = [&](std::vector<std::vector<Use>>& uses, size_t op, uint32_t tensor) {
      uses[spec_.tensors[tensor].storage].push_back({op, tensor});
    };
    for (const auto& port : spec_.inputs) add(writes_, ops_, port.tensor);
    for (const auto& port : spec_.outputs) add(reads_, ops_ + 1, port.tensor);
    for (size_t i = 0; i < ops_; ++i) {
      for (const int32_t t : spec_.ops[i].inputs) add(reads_, i, static_cast<uint32_t>(t));
      for (const int32_t t : spec_.ops[i].outputs) add(writes_, i, static_cast<uint32_t>(t));
    }
  }

  std::set<uint64_t> Bytes(uint32_t tensor) const {
    const TensorSpec& t = spec_.tensors[tensor];
    std::set<uint64_t> bytes;
    for (int32_t r = 0; r < t.dims[0]; ++r) {
      for (int32_t c = 0; c < t.dims[1]; ++c) {
        bytes.insert(t.offset + static_cast<uint64_t>(r * t.strides[0] + c * t.strides[1]));
      }
    }
    return bytes;
  }
  bool Meet(uint32_t a, uint32_t b) const {
    const auto in_a = Bytes(a);
    const auto in_b = Bytes(b);
    return std::any_of(in_a.begin(), in_a.end(), [&](uint64_t x) { return in_b.count(x) > 0; });
  }

  std::set<uint64_t> BytesInArena(uint32_t tensor) const {
    std::set<uint64_t> bytes;
    for (const uint64_t byte : Bytes(tensor)) {
      bytes.insert(spec_.storages[spec_.tensors[tensor].storage].offset + byte);
    }
    return bytes;
  }
  bool MeetInArena(uint32_t a, uint32_t b) const {
    const auto in_a = BytesInArena(a);
    const auto in_b = BytesInArena(b);
    return std::any_of(in_a.begin(), in_a.end(), [&](uint64_t x) { return in_b.count(x) > 0; });
  }

  bool WritersAreApart() const {
    for (const auto& writers : writes_) {
      for (size_t i = 0; i < writers.size(); ++i) {
        if (writers[i].op == ops_ && writers.size() > 1) return false;
        for (size_t k = 0; k < i; ++k) {
          if (Meet(writers[i].tensor, writers[k].tensor)) return false;
        }
      }
    }
    return true;
  }

  bool ReadersAreServed() const {
    for (size_t s = 0; s < reads_.size(); ++s) {
      for (const Use& reader : reads_[s]) {
        std::set<uint64_t> missing = Bytes(reader.tensor);
        for (const Use& writer : writes_[s]) {
          if (!before_[writer.op][reader.op]) continue;
          for (const uint64_t byte : Bytes(writer.tensor)) missing.erase(byte);
        }
        if (!missing.empty()) return false;
      }
    }
    return true;
  }

  bool IsTakenOver(size_t s, size_t t, size_t op) const {
    if (op >= ops_ || spec_.ops[op].in_place != 0) return false;
    const auto& from = spec_.storages[s];
    const auto& to = spec_.storages[t];
    if (from.offset != to.offset || from.bytes != to.bytes) return false;
    const TensorSpec& output = spec_.tensors[static_cast<size_t>(spec_.ops[op].outputs[0])];
    if (output.storage != t) return false;
    if (spec_.tensors[static_cast<size_t>(spec_.ops[op].inputs[0])].storage != s) return false;
    return std::all_of(spec_.ops[op].inputs.begin(), spec_.ops[op].inputs.end(),
                       [&](int32_t input) {
                         const TensorSpec& tensor = spec_.tensors[static_cast<size_t>(input)];
                         return tensor.storage != s ||
                                (tensor.offset == output.offset && tensor.dims == output.dims &&
                                 tensor.strides == output.strides);
                       });
  }

  /// Of each byte that both have, all uses of s come before all writes of t.
  bool IsDoneBefore(size_t s, size_t t) const {
    for (const auto* uses : {&writes_[s], &reads_[s]}) {
      for (const Use& use : *uses) {
        for (const Use& writer : writes_[t]) {
          if (before_[use.op][writer.op] || !MeetInArena(use.tensor, writer.tensor)) continue;
          if (use.op != writer.op || !IsTakenOver(s, t, writer.op)) return false;
        }
      }
    }
    return true;
  }

  bool AreApartInTime(size_t s, size_t t) const {
    for (const auto* uses : {&writes_[s], &reads_[s]}) {
      for (const Use& use : *uses) {
        for (const Use& writer : writes_[t]) {
          const bool in_place = use.op == writer.op && IsTakenOver(s, t, writer.op);
          if (!before_[use.op][writer.op] && !in_place) return false;
        }
      }
    }
    return true;
  }

  bool StoragesTakeTurns() const {
    for (size_t s = 0; s < writes_.size(); ++s) {
      for (size_t t = 0; t < s; ++t) {
        const auto& a = spec_.storages[s];
        const auto& b = spec_.storages[t];
        if (a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset) continue;
        if (writes_[s].empty() || writes_[t].empty()) continue;
        if (!IsDoneBefore(s, t) && !IsDoneBefore(t, s)) return false;
      }
    }
    return true;
  }

  bool SegmentsAreAcyclic() const {
    const size_t n = spec_.segments.size();
    std::vector<size_t> segment(ops_);
    for (size_t i = 0; i < n; ++i) {
      for (const uint32_t op : spec_.segments[i].ops) segment[op] = i;
    }
    std::vector<std::vector<bool>> edge(n, std::vector<bool>(n, false));
    for (size_t s = 0; s < writes_.size(); ++s) {
      for (const Use& w : writes_[s]) {
        for (const Use& r : reads_[s]) {
          if (w.op < ops_ && r.op < ops_ && segment[w.op] != segment[r.op] &&
              Meet(w.tensor, r.tensor)) {
            edge[segment[w.op]][segment[r.op]] = true;
          }
        }
      }
    }
    for (size_t k = 0; k < n; ++k) {
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < n; ++j) {
          if (edge[i][k] && edge[k][j]) edge[i][j] = true;
        }
      }
    }
    for (size_t i = 0; i < n; ++i) {
      if (edge[i][i]) return false;
    }
    return true;
  }

  const PlanSpec& spec_;
  size_t ops_;
  std::vector<std::vector<bool>> before_;
  std::vector<std::vector<Use>> writes_;
  std::vector<std::vector<Use>> reads_;
};

}  // namespace

TEST_CASE("CheckPlan: says of random plans what an oracle on single bytes says") {
  int good = 0;
  int bad = 0;
  int good_in_place = 0;
  int good_with_workers = 0;
  int good_interleaved = 0;
  for (uint32_t seed = 0; seed < 20000; ++seed) {
    const PlanSpec spec = Generator(seed).Make();
    Oracle oracle(spec);
    const bool expected = oracle.Passes();
    const std::string text = Check(spec);
    CAPTURE(seed);
    CAPTURE(text);
    CHECK(text.empty() == expected);
    ++(expected ? good : bad);
    if (!expected) continue;
    good_interleaved += oracle.AreInterleaved() ? 1 : 0;
    for (const auto& op : spec.ops) {
      if (op.in_place >= 0) {
        ++good_in_place;
        break;
      }
    }
    if (spec.workers.size() > 1) ++good_with_workers;
  }
  // Both answers, and the interesting ways to pass, must be common for this to mean anything.
  MESSAGE(good << " good (" << good_in_place << " in place, " << good_interleaved
               << " interleaved, " << good_with_workers << " with several workers), " << bad
               << " bad");
  CHECK(good > 3000);
  CHECK(bad > 3000);
  CHECK(good_in_place > 300);
  CHECK(good_interleaved > 50);
  if (kHasWorkers) CHECK(good_with_workers > 1000);
}
