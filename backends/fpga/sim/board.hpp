// One simulated board: memory, compute units, and the buffers and commands of those who have it
// open. As with a real one, all of them share its memory and its compute units, and a command that
// never ends keeps the unit until the board is reset or its owner is gone.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backends/fpga/sim/compute_unit.hpp"
#include "backends/fpga/sim/device_memory.hpp"
#include "backends/fpga/sim/settings.hpp"

struct axlf;

namespace tenon::fpga::sim {

/// Memory of the host's, and as much of the board's, with an address.
struct BufferObject {
  void* host = nullptr;  ///< null: the board's alone
  bool owns_host = false;
  uint64_t bytes = 0;
  unsigned flags = 0;
  size_t bank = 0;
  uint64_t address = 0;  ///< 0: the host's alone
};

/// What one xclOpen gave. All members are guarded by the board's mutex.
struct Client {
  std::map<unsigned, BufferObject> buffers;
  unsigned next_buffer = 1;
  std::map<unsigned, int> contexts;  ///< open contexts, by compute unit
  unsigned ended = 0;                ///< commands that ended, and were not waited for yet
  bool is_lost = false;              ///< the device fell off the bus
};

/// Functions return 0, or an error of errno.h, negative.
class Board {
 public:
  explicit Board(unsigned index);
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;
  ~Board();

  /// The board of an index, for the life of the process.
  static Board& At(unsigned index);

  std::unique_ptr<Client> Open(const Settings& settings);
  /// Ends what the client has started.
  void Close(std::unique_ptr<Client> client);
  /// Ends every command as aborted, and resets the compute units.
  int Reset(Client& client);

  int Load(Client& client, const axlf* image);
  int OpenContext(Client& client, const unsigned char* uuid, unsigned unit, bool is_shared);
  int CloseContext(Client& client, unsigned unit);

  /// Returns 0 where there is no memory.
  unsigned Allocate(Client& client, void* host, uint64_t bytes, unsigned flags);
  void Free(Client& client, unsigned buffer);
  /// Null: there is no such buffer.
  const BufferObject* Find(const Client& client, unsigned buffer);
  int Copy(Client& client, unsigned buffer, bool to_device, uint64_t bytes, uint64_t offset);

  /// Queues the command that lies in a buffer, and waits until one has ended (1) or not (0).
  int Enqueue(Client& client, unsigned buffer);
  int WaitForAny(Client& client, int milliseconds);
  int ReadRegister(Client& client, unsigned unit, uint32_t offset, uint32_t* value);
  int WriteRegister(Client& client, unsigned unit, uint32_t offset, uint32_t value);

 private:
  struct Command {
    Client* client;
    void* packet;
  };
  struct Unit {
    std::unique_ptr<ComputeUnit> model;
    std::mutex mutex;  ///< of the model
    int exclusive = 0;
    int shared = 0;
  };

  void Work();
  unsigned Execute(const Command& command);
  unsigned RunUnit(Unit& unit, const uint32_t* registers, size_t words,
                   const std::string& layers_file);
  bool FaultNow(FaultKind kind) const;
  void CancelCommands(const Client* client, std::unique_lock<std::mutex>& lock);

  const unsigned index_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::condition_variable queued_;
  Settings settings_;
  DeviceMemory memory_;
  uint64_t topology_ = 0;  ///< a digest: the same banks keep what is in them
  std::vector<std::unique_ptr<Unit>> units_;
  unsigned char uuid_[16] = {};
  bool is_loaded_ = false;
  std::vector<Client*> clients_;
  std::deque<Command> queue_;
  Command running_{};
  bool cancel_ = false;  ///< the command that runs is to end
  bool stop_ = false;
  uint64_t starts_ = 0;
  std::thread worker_;
};

}  // namespace tenon::fpga::sim
