// The commands of the simulated board: a queue that one thread works off, as the scheduler of a
// real board's driver does.
#include <ert.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>

#include "backends/fpga/sim/board.hpp"
#include "backends/fpga/sim/counters.hpp"
#include "backends/fpga/sim/layer_trace.hpp"

namespace tenon::fpga::sim {
namespace {

constexpr uint32_t kControl = 0;  ///< the control register of ap_ctrl_hs
constexpr uint32_t kStart = 1;
constexpr uint32_t kDone = 2;
/// A start packet holds the registers from 0 on; these words are control, which is not written.
constexpr size_t kControlWords = 4;
constexpr unsigned kClocksPerPoll = 128;

/// The compute unit that a start names: the lowest bit of its masks. UINT_MAX: none.
unsigned UnitOf(const ert_start_kernel_cmd& packet) {
  for (unsigned i = 0; i <= packet.extra_cu_masks; ++i) {
    const uint32_t mask = i == 0 ? packet.cu_mask : packet.data[i - 1];
    if (mask != 0) return i * 32 + static_cast<unsigned>(__builtin_ctz(mask));
  }
  return ~0U;
}

}  // namespace

bool Board::FaultNow(FaultKind kind) const {
  for (const Fault& fault : settings_.faults) {
    if (fault.kind == kind && (fault.start == 0 || fault.start == starts_)) return true;
  }
  return false;
}

int Board::Enqueue(Client& client, unsigned buffer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (client.is_lost) return -ENODEV;
  const auto found = client.buffers.find(buffer);
  if (found == client.buffers.end() || found->second.host == nullptr) return -ENOENT;
  const auto* const packet = static_cast<const ert_packet*>(found->second.host);
  // XRT does by other means what it is refused here; what is accepted and not done stays undone.
  if (packet->opcode != ERT_START_CU && packet->opcode != ERT_EXEC_WRITE) return -EOPNOTSUPP;
  queue_.push_back({&client, found->second.host});
  queued_.notify_one();
  return 0;
}

int Board::WaitForAny(Client& client, int milliseconds) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto has_ended = [&] { return client.ended > 0; };
  if (!ended_.wait_for(lock, std::chrono::milliseconds(milliseconds), has_ended)) return 0;
  --client.ended;
  return 1;
}

void Board::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    queued_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (stop_) return;
    running_ = queue_.front();
    queue_.pop_front();
    cancel_ = false;
    lock.unlock();
    const unsigned state = Execute(running_);
    lock.lock();
    // Told under the lock: who sees it sees what the unit has written, too.
    static_cast<ert_packet*>(running_.packet)->state = state & 15U;
    ++running_.client->ended;
    running_ = {};
    ended_.notify_all();
  }
}

unsigned Board::Execute(const Command& command) {
  const auto& packet = *static_cast<const ert_start_kernel_cmd*>(command.packet);
  const unsigned index = UnitOf(packet);
  Unit* unit = nullptr;
  bool is_lost = false;
  std::string layers_file;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++starts_;
    ++Count().starts;
    if (FaultNow(FaultKind::kLost)) {
      for (Client* client : clients_) client->is_lost = true;
    }
    is_lost = command.client->is_lost;
    layers_file = settings_.layers_file;
    if (index < units_.size()) unit = units_[index].get();
    if (unit != nullptr && FaultNow(FaultKind::kAxiError))
      unit->model->Inject(FaultKind::kAxiError);
    if (unit != nullptr && FaultNow(FaultKind::kStuck)) unit->model->Inject(FaultKind::kStuck);
  }
  unsigned state = ERT_CMD_STATE_ERROR;
  if (unit != nullptr && !is_lost) {
    const size_t masks = 1U + packet.extra_cu_masks;
    state = RunUnit(*unit, packet.data + (masks - 1), packet.count - masks, layers_file);
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (FaultNow(FaultKind::kError) && state == ERT_CMD_STATE_COMPLETED) state = ERT_CMD_STATE_ERROR;
  ++(state == ERT_CMD_STATE_COMPLETED ? Count().starts_done : Count().starts_failed);
  return state;
}

/// What a driver's scheduler does with a start: registers, ap_start, and then polls.
unsigned Board::RunUnit(Unit& unit, const uint32_t* registers, size_t words,
                        const std::string& layers_file) {
  const std::lock_guard<std::mutex> model_lock(unit.mutex);
  ComputeUnit& model = *unit.model;
  const uint64_t clocks = model.clocks();
  const uint64_t bytes_read = model.bytes_read();
  const uint64_t bytes_written = model.bytes_written();
  for (size_t i = kControlWords; i < words; ++i) {
    model.WriteRegister(static_cast<uint32_t>(i * sizeof(uint32_t)), registers[i]);
  }
  model.WriteRegister(kControl, kStart);
  unsigned state = ERT_CMD_STATE_COMPLETED;
  LayerTrace trace;
  while ((model.ReadRegister(kControl) & kDone) == 0) {
    constexpr unsigned kLooks = kClocksPerPoll / LayerTrace::kClocksPerLook;
    for (unsigned look = 0; !layers_file.empty() && look < kLooks; ++look) {
      model.Advance(LayerTrace::kClocksPerLook);
      trace.Look(model);
    }
    if (layers_file.empty()) model.Advance(kClocksPerPoll);
    bool is_stuck = false;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (cancel_) {
        state = ERT_CMD_STATE_ABORT;
        break;
      }
      is_stuck = FaultNow(FaultKind::kStuck);
    }
    if (is_stuck) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (const std::string violation = model.Violation(); !violation.empty()) {
    std::fprintf(stderr, "tenon simulated board: the compute unit broke AXI's rules: %s\n",
                 violation.c_str());
    state = ERT_CMD_STATE_ERROR;
  }
  Count().clocks += model.clocks() - clocks;
  Count().bytes_read += model.bytes_read() - bytes_read;
  Count().bytes_written += model.bytes_written() - bytes_written;
  if (!layers_file.empty() && state == ERT_CMD_STATE_COMPLETED) trace.Finish(model, layers_file);
  if (state != ERT_CMD_STATE_COMPLETED) model.Reset();
  return state;
}

/// Ends the commands of a client, or, without one, of all.
void Board::CancelCommands(const Client* client, std::unique_lock<std::mutex>& lock) {
  const auto is_meant = [&](const Command& command) {
    return command.client != nullptr && (client == nullptr || command.client == client);
  };
  for (auto it = queue_.begin(); it != queue_.end();) {
    if (!is_meant(*it)) {
      ++it;
      continue;
    }
    static_cast<ert_packet*>(it->packet)->state = ERT_CMD_STATE_ABORT;
    ++it->client->ended;
    it = queue_.erase(it);
  }
  if (is_meant(running_)) cancel_ = true;
  ended_.wait(lock, [&] { return !is_meant(running_) || stop_; });
  ended_.notify_all();
}

int Board::Reset(Client& client) {
  std::unique_lock<std::mutex> lock(mutex_);
  CancelCommands(nullptr, lock);
  client.is_lost = false;
  ++Count().resets;
  return 0;
}

int Board::ReadRegister(Client& client, unsigned unit, uint32_t offset, uint32_t* value) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (client.is_lost) return -ENODEV;
  if (unit >= units_.size() || offset % sizeof(uint32_t) != 0) return -EINVAL;
  Unit& read = *units_[unit];
  lock.unlock();
  const std::lock_guard<std::mutex> model_lock(read.mutex);
  *value = read.model->ReadRegister(offset);
  ++Count().register_reads;
  return 0;
}

int Board::WriteRegister(Client& client, unsigned unit, uint32_t offset, uint32_t value) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (client.is_lost) return -ENODEV;
  if (unit >= units_.size() || offset % sizeof(uint32_t) != 0) return -EINVAL;
  Unit& written = *units_[unit];
  lock.unlock();
  const std::lock_guard<std::mutex> model_lock(written.mutex);
  written.model->WriteRegister(offset, value);
  ++Count().register_writes;
  return 0;
}

}  // namespace tenon::fpga::sim
