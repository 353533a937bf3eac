#include "converter/solve/time/simulator.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

namespace tenon::converter {
namespace {

// Sums of times stay below 2^62.
constexpr double kLongest = 4e18;

/// One of n users of a shared port gets 1/n of this per picosecond: a whole number for up to 16
/// users, and off by less than 1e-10 for any possible number of units.
constexpr int64_t kServicePerPicosecond = int64_t{720720} << 20;
/// Has 128 bits for times of 2^62 in those parts.
using Service = __int128;

/// Simulates a port shared by steps. Each user gets the same share of it. So it suffices to store
/// how much one user that had always been there would have got, and at which value of that each
/// user is done.
class SharedPort {
 public:
  void Join(Picoseconds now, int32_t step, Picoseconds alone) {
    Advance(now);
    users_.emplace(served_ + Service{alone} * kServicePerPicosecond, step);
  }
  /// Removes and returns a user that is done by `now`, or returns -1.
  int32_t Leave(Picoseconds now) {
    Advance(now);
    if (users_.empty() || users_.top().first > served_) return -1;
    const int32_t step = users_.top().second;
    users_.pop();
    return step;
  }
  [[nodiscard]] bool empty() const { return users_.empty(); }
  /// Returns when the next user is done if nobody joins before. There must be one.
  [[nodiscard]] Picoseconds NextDone() const {
    const Service left = std::max<Service>(users_.top().first - served_, 0);
    return now_ + static_cast<Picoseconds>((left + Share() - 1) / Share());
  }

 private:
  [[nodiscard]] int64_t Share() const {
    return kServicePerPicosecond / static_cast<int64_t>(users_.size());
  }
  void Advance(Picoseconds now) {
    if (!users_.empty()) served_ += Service{now - now_} * Share();
    now_ = now;
  }

  using User = std::pair<Service, int32_t>;
  std::priority_queue<User, std::vector<User>, std::greater<>> users_;
  Service served_ = 0;
  Picoseconds now_ = 0;
};

struct Event {
  enum Kind : uint8_t { kPortMayBeDone, kPrivatePartDone, kTransfersBegin };
  Picoseconds time = 0;
  Kind kind = kPrivatePartDone;
  int32_t index = 0;     ///< of the port or step
  uint32_t version = 0;  ///< of the port's users; events of older ones are void

  friend bool operator>(const Event& a, const Event& b) {
    return std::tie(a.time, a.kind, a.index, a.version) >
           std::tie(b.time, b.kind, b.index, b.version);
  }
};

Status CheckStep(const SimulatedProgram& program, size_t index) {
  const auto in_range = [](int32_t value, size_t size) {
    return value >= 0 && static_cast<size_t>(value) < size;
  };
  const SimulatedStep& step = program.steps[index];
  if (!in_range(step.unit, program.units.size())) {
    return InternalError("step {} is on unit {}, there are {}", index, step.unit,
                         program.units.size());
  }
  if (step.fixed < 0 || step.compute < 0) {
    return InternalError("step {} takes a time below 0", index);
  }
  for (const PortUse& use : step.uses) {
    if (!in_range(use.port, program.ports.size())) {
      return InternalError("step {} uses port {}, there are {}", index, use.port,
                           program.ports.size());
    }
    if (use.bytes < 0) return InternalError("step {} moves {} bytes", index, use.bytes);
  }
  for (const int32_t wait : step.waits) {
    if (!in_range(wait, program.steps.size())) {
      return InternalError("step {} waits for step {}, there are {}", index, wait,
                           program.steps.size());
    }
  }
  return {};
}

Status CheckProgram(const SimulatedProgram& program) {
  double longest = 0;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    TENON_RETURN_IF_ERROR(CheckStep(program, i));
    const SimulatedStep& step = program.steps[i];
    longest += static_cast<double>(step.fixed) + static_cast<double>(step.compute);
    for (const PortUse& use : step.uses) {
      const double rate = program.ports[static_cast<size_t>(use.port)].bytes_per_second;
      if (rate > 0) longest += static_cast<double>(use.bytes) * 1e12 / rate;
    }
  }
  if (!(longest < kLongest)) {
    return UsageError(
        "the program is predicted to take {:.3g} s: a rate of the board (or of the profile) is too "
        "small, or a time too long",
        longest * 1e-12);
  }
  return {};
}

class Simulator {
 public:
  explicit Simulator(const SimulatedProgram& program)
      : program_(program),
        blocked_by_(program.steps.size()),
        parts_left_(program.steps.size()),
        shared_(program.ports.size()),
        versions_(program.ports.size()) {
    result_.start.resize(program.steps.size());
    result_.end.resize(program.steps.size());
    result_.busy.resize(program.units.size());
    ready_.resize(program.units.size());
    is_busy_.resize(program.units.size());
    LinkSteps();
  }

  Result<Simulation> Run() {
    for (size_t i = 0; i < blocked_by_.size(); ++i) {
      if (blocked_by_[i] == 0) StartOrQueue(static_cast<int32_t>(i), 0);
    }
    StartReady(0);
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      Handle(event);
      // What ends at the same time may free an earlier step.
      if (events_.empty() || events_.top().time > event.time) StartReady(event.time);
    }
    if (ended_ < program_.steps.size()) return Circle();
    return std::move(result_);
  }

 private:
  [[nodiscard]] const SimulatedStep& step(int32_t index) const {
    return program_.steps[static_cast<size_t>(index)];
  }

  /// Calls `visit(before, step)` for everything that a step comes after: its waits, and the step
  /// before it on its unit.
  template <typename Visit>
  void ForEachEdge(const Visit& visit) const {
    std::vector<int32_t> last_on_unit(program_.units.size(), -1);
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      const auto index = static_cast<int32_t>(i);
      int32_t& last = last_on_unit[static_cast<size_t>(step(index).unit)];
      if (last >= 0 && !TakesReady(step(index).unit)) visit(last, index);
      last = index;
      for (const int32_t wait : step(index).waits) visit(wait, index);
    }
  }

  /// Stores the steps that come after each step in one array.
  void LinkSteps() {
    first_after_.resize(program_.steps.size() + 1);
    ForEachEdge([&](int32_t before, int32_t after) {
      ++first_after_[static_cast<size_t>(before) + 1];
      ++blocked_by_[static_cast<size_t>(after)];
    });
    for (size_t i = 1; i < first_after_.size(); ++i) first_after_[i] += first_after_[i - 1];
    after_.resize(first_after_.back());
    std::vector<size_t> next(first_after_.begin(), first_after_.end() - 1);
    ForEachEdge([&](int32_t before, int32_t after) {
      after_[next[static_cast<size_t>(before)]++] = after;
    });
  }

  [[nodiscard]] bool TakesReady(int32_t unit) const {
    const auto index = static_cast<size_t>(unit);
    return index < program_.takes_ready.size() && program_.takes_ready[index];
  }

  void StartOrQueue(int32_t index, Picoseconds now) {
    const int32_t unit = step(index).unit;
    if (TakesReady(unit)) {
      ready_[static_cast<size_t>(unit)].push(index);
    } else {
      Start(index, now);
    }
  }

  /// Starts the first ready step of each free unit that takes what is ready.
  void StartReady(Picoseconds now) {
    for (size_t unit = 0; unit < program_.takes_ready.size() && unit < ready_.size(); ++unit) {
      if (is_busy_[unit] || ready_[unit].empty()) continue;
      is_busy_[unit] = true;
      const int32_t first = ready_[unit].top();
      ready_[unit].pop();
      Start(first, now);
    }
  }

  void Start(int32_t index, Picoseconds now) {
    const SimulatedStep& started = step(index);
    result_.start[static_cast<size_t>(index)] = now;
    const Picoseconds begin = now + started.fixed;
    Picoseconds own = started.compute;
    bool shares = false;
    ForEachUse(started, [&](int32_t port, Picoseconds alone) {
      if (program_.ports[static_cast<size_t>(port)].shared) {
        shares = true;
      } else {
        own = std::max(own, alone);
      }
    });
    parts_left_[static_cast<size_t>(index)] = 1;
    events_.push({begin + own, Event::kPrivatePartDone, index, 0});
    if (shares) {
      ++parts_left_[static_cast<size_t>(index)];
      events_.push({begin, Event::kTransfersBegin, index, 0});
    }
  }

  /// Calls `visit(port, time alone)` once for each port that takes time, with its uses added up.
  template <typename Visit>
  void ForEachUse(const SimulatedStep& used, const Visit& visit) const {
    for (size_t i = 0; i < used.uses.size(); ++i) {
      const int32_t port = used.uses[i].port;
      const auto same = [port](const PortUse& use) { return use.port == port; };
      const auto here = used.uses.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::any_of(used.uses.begin(), here, same)) continue;
      double bytes = 0;
      for (const PortUse& use : used.uses) {
        if (same(use)) bytes += static_cast<double>(use.bytes);
      }
      const Picoseconds alone =
          TimeAtRate(bytes, program_.ports[static_cast<size_t>(port)].bytes_per_second);
      if (alone > 0) visit(port, alone);
    }
  }

  void Handle(const Event& event) {
    switch (event.kind) {
      case Event::kPrivatePartDone:
        EndPart(event.index, event.time);
        return;
      case Event::kTransfersBegin:
        ForEachUse(step(event.index), [&](int32_t port, Picoseconds alone) {
          if (!program_.ports[static_cast<size_t>(port)].shared) return;
          ++parts_left_[static_cast<size_t>(event.index)];
          shared_[static_cast<size_t>(port)].Join(event.time, event.index, alone);
          WatchPort(port);
        });
        EndPart(event.index, event.time);
        return;
      case Event::kPortMayBeDone: {
        if (event.version != versions_[static_cast<size_t>(event.index)]) return;
        SharedPort& port = shared_[static_cast<size_t>(event.index)];
        for (int32_t done = port.Leave(event.time); done >= 0; done = port.Leave(event.time)) {
          EndPart(done, event.time);
        }
        WatchPort(event.index);
        return;
      }
    }
  }

  void WatchPort(int32_t index) {
    const SharedPort& port = shared_[static_cast<size_t>(index)];
    const uint32_t version = ++versions_[static_cast<size_t>(index)];
    if (!port.empty()) events_.push({port.NextDone(), Event::kPortMayBeDone, index, version});
  }

  void EndPart(int32_t index, Picoseconds now) {
    const auto ended = static_cast<size_t>(index);
    if (--parts_left_[ended] > 0) return;
    ++ended_;
    result_.end[ended] = now;
    const auto unit = static_cast<size_t>(step(index).unit);
    result_.busy[unit] += now - result_.start[ended];
    is_busy_[unit] = false;
    result_.makespan = std::max(result_.makespan, now);
    for (size_t i = first_after_[ended]; i < first_after_[ended + 1]; ++i) {
      if (--blocked_by_[static_cast<size_t>(after_[i])] == 0) StartOrQueue(after_[i], now);
    }
  }

  /// Goes back from a step that never ran, over steps that never ran, until one occurs twice.
  [[nodiscard]] Error Circle() const {
    std::vector<int32_t> blocker(program_.steps.size(), -1);
    ForEachEdge([&](int32_t before, int32_t after) {
      if (blocked_by_[static_cast<size_t>(before)] > 0)
        blocker[static_cast<size_t>(after)] = before;
    });
    const auto blocked = std::find_if(blocked_by_.begin(), blocked_by_.end(),
                                      [](int32_t count) { return count > 0; });
    auto at = static_cast<int32_t>(blocked - blocked_by_.begin());
    std::vector<bool> seen(program_.steps.size());
    for (; !seen[static_cast<size_t>(at)]; at = blocker[static_cast<size_t>(at)]) {
      seen[static_cast<size_t>(at)] = true;
    }
    const int32_t other = blocker[static_cast<size_t>(at)];
    if (other == at) return InternalError("step {} waits for itself", at);
    return InternalError(
        "step {} (unit '{}') and step {} (unit '{}') wait for each other in a circle", at,
        UnitName(at), other, UnitName(other));
  }
  [[nodiscard]] const std::string& UnitName(int32_t index) const {
    return program_.units[static_cast<size_t>(step(index).unit)];
  }

  const SimulatedProgram& program_;
  std::vector<size_t> first_after_;  ///< by step: its part of `after_`
  std::vector<int32_t> after_;
  std::vector<int32_t> blocked_by_;  ///< by step: edges from steps that have not ended
  std::vector<int32_t> parts_left_;  ///< by step: transfers and compute that have not ended
  std::vector<SharedPort> shared_;   ///< by port; unused where it is private
  std::vector<uint32_t> versions_;   ///< by port
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  /// By unit that takes what is ready: its steps that wait for nothing, and whether it runs one.
  std::vector<std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>>> ready_;
  std::vector<bool> is_busy_;
  size_t ended_ = 0;
  Simulation result_;
};

}  // namespace

Picoseconds TimeAtRate(double amount, double per_second) {
  if (!(per_second > 0) || !(amount > 0)) return 0;
  return static_cast<Picoseconds>(std::llround(std::min(amount * 1e12 / per_second, kLongest)));
}

Result<Simulation> Simulate(const SimulatedProgram& program) {
  TENON_RETURN_IF_ERROR(CheckProgram(program));
  return Simulator(program).Run();
}

}  // namespace tenon::converter
