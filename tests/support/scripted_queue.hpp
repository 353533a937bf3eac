// A command queue of the scripted device: a list of work and the thread that works it off.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/scripted_backend.hpp"

namespace tenon::test {

class ScriptedQueue;

/// What all queues of one scripted device share.
struct ScriptedBackend::Script {
  struct Plan {
    size_t after = 0;
    size_t times = 0;
    StatusCode code = StatusCode::kBackendFailure;
  };

  /// Counts the call; the failure that was asked for, if it is its turn.
  Status Pass(DeviceCall call);
  Status BreakRule(const char* rule);
  /// On the device's thread: hangs, dawdles, fails.
  Status BeforeKernel();

  ScriptedOptions options;
  size_t place = 0;
  std::deque<std::string> ids;
  std::vector<KernelEntry> kernels;
  std::vector<KernelCaps> caps;
  DeviceApi api{};
  Backend backend{};

  mutable std::mutex mutex;  ///< of what follows
  std::condition_variable released;
  std::array<Plan, static_cast<size_t>(DeviceCall::kCount)> plans{};
  std::array<size_t, static_cast<size_t>(DeviceCall::kCount)> counts{};
  bool hangs = false;
  size_t kernels_until_hang = 0;
  uint32_t least_delay = 0;
  uint32_t most_delay = 0;
  std::mt19937 random;
  std::set<ScriptedQueue*> open_queues;

  std::atomic<size_t> rules_broken{0};
  std::atomic<size_t> lost{0};
  std::atomic<size_t> devices{0};
  std::atomic<size_t> tokens{0};
};

class ScriptedQueue {
 public:
  ScriptedQueue(ScriptedBackend::Script& script, Span<const ArenaMemory> arenas);
  ScriptedQueue(const ScriptedQueue&) = delete;
  ScriptedQueue& operator=(const ScriptedQueue&) = delete;
  /// Works off what has been submitted.
  ~ScriptedQueue();

  Status Start();
  Status Upload(const SharedTensor& tensor);
  Status Run(const KernelEntry& portable, const KernelCall& call);
  Status Signal(const SharedTensor& tensor, void** event);
  Status Submit();
  Status Wait(void* event, Deadline deadline);
  Status Drain(Deadline deadline);
  [[nodiscard]] size_t held_bytes() const;

 private:
  struct Event {
    bool is_submitted = false;
    bool is_over = false;
    Status status;
    TensorView view;         ///< where the device has the tensor
    void* target = nullptr;  ///< where the host wants it; null: there, or not any more
  };
  using Task = std::function<Status()>;  ///< knows of no memory but the arenas
  struct Entry {
    Task task;
    Event* event;
  };

  Status Enter(DeviceCall call, bool inside);
  [[nodiscard]] void* OnDevice(void* planned) const;
  [[nodiscard]] bool IsInArena(const void* planned) const;
  [[nodiscard]] TensorView DeviceView(const TensorView& view) const;
  void Work();
  void SubmitStaged();
  template <typename Condition>
  bool WaitUntil(std::unique_lock<std::mutex>& lock, Deadline deadline, Condition condition);

  ScriptedBackend::Script& script_;
  std::vector<ArenaMemory> arenas_;
  std::vector<std::vector<uint8_t>> copies_;  ///< of the arenas, on a device with its own memory

  std::mutex mutex_;  ///< of what follows
  std::condition_variable changed_;
  std::vector<Entry> staged_;  ///< until they are submitted
  std::deque<Entry> queue_;
  std::set<Event*> events_;
  Event* working_ = nullptr;  ///< of the task that is being done
  bool is_busy_ = false;
  bool is_ending_ = false;
  Status failure_;  ///< of a kernel, until it has been drained

  // Of the calling thread only.
  bool is_started_ = false;
  bool must_drain_ = false;
  std::thread thread_;  ///< last: it uses all the others
};

}  // namespace tenon::test
