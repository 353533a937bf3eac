// A real asynchronous device for tests: a thread that works off a queue, with portable CPU kernels.
// Tests tell it when to fail, to dawdle or to stop answering, and ask what it was told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/backend_api/backend.hpp"
#include "runtime/ops/kernel_caps.hpp"
#include "tenon/tenon.h"

namespace tenon::test {

/// What can be counted and made to fail. kKernel is a kernel's work on the device's thread, kRun
/// the call that enqueues it. kMoment: a signal without a tensor.
enum class DeviceCall {
  kOpen,
  kOpenQueue,
  kLoad,
  kKernelOpen,
  kStart,
  kUpload,
  kRun,
  kSignal,
  kMoment,
  kSubmit,
  kWait,
  kDrain,
  kKernel,
  kCount,
};

struct ScriptedOptions {
  std::string name = "scripted";
  /// The device has memory of its own, full of garbage: what is not uploaded is not there, what is
  /// not signalled is not seen by the host. Else it works in the session's arenas.
  bool own_memory = true;
};

/// A backend called `name`, with a kernel `<name>.<op>.portable` per op. At most 8 at a time.
/// Queues may be used from several threads; so may the functions here.
///
/// Strict about the protocol of device.hpp: whatever the engine does wrong is an error of the call
/// and is counted in protocol_errors().
class ScriptedBackend {
 public:
  explicit ScriptedBackend(ScriptedOptions options = {});
  ScriptedBackend(const ScriptedBackend&) = delete;
  ScriptedBackend& operator=(const ScriptedBackend&) = delete;
  /// CloseQueues.
  ~ScriptedBackend();

  [[nodiscard]] const Backend& backend() const;
  [[nodiscard]] const tenon_backend* handle() const {
    return reinterpret_cast<const tenon_backend*>(&backend());
  }
  /// For the converter. Borrowed.
  [[nodiscard]] BackendCaps caps() const;

  /// After `after` more calls of this kind, `times` of them fail with `code`.
  void Fail(DeviceCall call, size_t after = 0, size_t times = 1,
            StatusCode code = StatusCode::kBackendFailure);
  /// Every kernel takes a random time from [least, most] microseconds longer.
  void Delay(uint32_t least, uint32_t most, uint32_t seed = 1);
  /// After `after` more kernels the device's threads stop, until Release.
  void Hang(size_t after = 0);
  void Release();
  /// Nothing fails, hangs or dawdles any more.
  void Behave();
  /// Behaves, lets every queue that was left open run dry, and closes it.
  void CloseQueues();

  [[nodiscard]] size_t count(DeviceCall call) const;
  void ResetCounts();
  /// Calls that break the rules of device.hpp; signals that nobody has waited for when their queue
  /// was closed.
  [[nodiscard]] size_t protocol_errors() const;
  [[nodiscard]] size_t lost_signals() const;
  [[nodiscard]] size_t open_queues() const;
  [[nodiscard]] size_t open_devices() const;
  /// Kernel states that were opened and not closed, or loaded and not unloaded.
  [[nodiscard]] size_t open_kernels() const;

  struct Script;

 private:
  std::unique_ptr<Script> script_;
};

}  // namespace tenon::test
