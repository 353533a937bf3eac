// Clients of the simulated board, its xclbin and its buffers; commands: board_commands.cpp.
#include "backends/fpga/sim/board.hpp"

#include <xclbin.h>
#include <xrt.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "backends/fpga/sim/counters.hpp"

namespace tenon::fpga::sim {
namespace {

constexpr unsigned kMostBoards = 16;
constexpr uint64_t kPage = 4096;
constexpr unsigned kVirtualUnit = ~0U;  ///< a context of the xclbin alone

template <typename Section>
const Section* FindSection(const axlf* image, axlf_section_kind kind) {
  for (uint32_t i = 0; i < image->m_header.m_numSections; ++i) {
    const axlf_section_header& section = image->m_sections[i];
    if (section.m_sectionKind != static_cast<uint32_t>(kind)) continue;
    const char* const base = reinterpret_cast<const char*>(image);
    return reinterpret_cast<const Section*>(base + section.m_sectionOffset);
  }
  return nullptr;
}

std::vector<MemoryBank> BanksOf(const mem_topology& topology) {
  std::vector<MemoryBank> banks;
  for (int i = 0; i < topology.m_count; ++i) {
    const mem_data& bank = topology.m_mem_data[i];
    banks.emplace_back(bank.m_base_address, bank.m_used != 0 ? bank.m_size * 1024 : 0);
  }
  return banks;
}

/// FNV-1a.
uint64_t Digest(const mem_topology& topology) {
  const size_t bytes = sizeof(topology.m_count) +
                       static_cast<size_t>(topology.m_count) * sizeof(topology.m_mem_data[0]);
  uint64_t digest = 14695981039346656037U;
  for (size_t i = 0; i < bytes; ++i) {
    digest = (digest ^ reinterpret_cast<const unsigned char*>(&topology)[i]) * 1099511628211U;
  }
  return digest;
}

/// Names of compute units in the order in which XRT numbers them: that of their interrupts.
std::vector<std::string> UnitsOf(const ip_layout& layout) {
  std::vector<const ip_data*> units;
  for (int i = 0; i < layout.m_count; ++i) {
    if (layout.m_ip_data[i].m_type == IP_KERNEL) units.push_back(&layout.m_ip_data[i]);
  }
  const auto interrupt = [](const ip_data* unit) {
    return unit->properties & static_cast<uint32_t>(IP_INTERRUPT_ID_MASK);
  };
  std::stable_sort(units.begin(), units.end(),
                   [&](const ip_data* a, const ip_data* b) { return interrupt(a) < interrupt(b); });
  std::vector<std::string> names;
  names.reserve(units.size());
  for (const ip_data* unit : units) names.emplace_back(reinterpret_cast<const char*>(unit->m_name));
  return names;
}

}  // namespace

Board::Board(unsigned index) : index_(index), worker_([this] { Work(); }) {}

Board::~Board() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    cancel_ = true;
  }
  queued_.notify_all();
  worker_.join();
}

Board& Board::At(unsigned index) {
  static std::mutex mutex;
  static std::array<std::unique_ptr<Board>, kMostBoards> boards;
  const std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Board>& board = boards[index % kMostBoards];
  if (board == nullptr) board = std::make_unique<Board>(index);
  return *board;
}

std::unique_ptr<Client> Board::Open(const Settings& settings) {
  auto client = std::make_unique<Client>();
  const std::lock_guard<std::mutex> lock(mutex_);
  // Other faults than before count starts anew.
  if (settings.fault_text != settings_.fault_text) starts_ = 0;
  settings_ = settings;
  clients_.push_back(client.get());
  ++Count().opened;
  return client;
}

void Board::Close(std::unique_ptr<Client> client) {
  std::unique_lock<std::mutex> lock(mutex_);
  CancelCommands(client.get(), lock);
  for (const auto& [unit, count] : client->contexts) {
    if (unit == kVirtualUnit || unit >= units_.size()) continue;
    units_[unit]->shared = std::max(0, units_[unit]->shared - count);
    units_[unit]->exclusive = 0;
  }
  while (!client->buffers.empty()) {
    BufferObject& buffer = client->buffers.begin()->second;
    if (buffer.owns_host) std::free(buffer.host);
    if (buffer.address != 0) memory_.bank(buffer.bank).Free(buffer.address);
    client->buffers.erase(client->buffers.begin());
  }
  clients_.erase(std::find(clients_.begin(), clients_.end(), client.get()));
  ++Count().closed;
  if (!settings_.counters_file.empty()) WriteCounters(settings_.counters_file.c_str());
}

int Board::Load(Client& client, const axlf* image) {
  const auto* const topology = FindSection<mem_topology>(image, MEM_TOPOLOGY);
  const auto* const layout = FindSection<ip_layout>(image, IP_LAYOUT);
  if (topology == nullptr || layout == nullptr) return -EINVAL;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (client.is_lost) return -ENODEV;
  unsigned char uuid[sizeof uuid_];
  std::memcpy(uuid, image->m_header.uuid, sizeof uuid);
  if (FaultNow(FaultKind::kWrongUuid)) uuid[0] ^= 0xFF;
  const bool is_same = is_loaded_ && std::memcmp(uuid, uuid_, sizeof uuid) == 0;
  if (is_same) return 0;
  for (const Client* other : clients_) {
    for (const auto& [unit, count] : other->contexts) {
      if (count > 0) return -EBUSY;  // in use
    }
    for (const auto& [handle, buffer] : other->buffers) {
      if (buffer.address != 0) return -EBUSY;
    }
  }
  units_.clear();
  is_loaded_ = false;
  if (const uint64_t digest = Digest(*topology); digest != topology_) {
    memory_.SetBanks(BanksOf(*topology));
    topology_ = digest;
  }
  for (const std::string& name : UnitsOf(*layout)) {
    auto unit = std::make_unique<Unit>();
    unit->model = MakeComputeUnit(name, memory_, settings_.timing);
    if (unit->model == nullptr) {
      std::fprintf(stderr, "tenon simulated board: there is no model of '%s'\n", name.c_str());
      return -ENODEV;
    }
    units_.push_back(std::move(unit));
  }
  std::memcpy(uuid_, uuid, sizeof uuid);
  is_loaded_ = true;
  ++Count().xclbins_loaded;
  return 0;
}

int Board::OpenContext(Client& client, const unsigned char* uuid, unsigned unit, bool is_shared) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (client.is_lost) return -ENODEV;
  if (!is_loaded_ || std::memcmp(uuid, uuid_, sizeof uuid_) != 0) return -EBUSY;
  if (unit != kVirtualUnit) {
    if (unit >= units_.size()) return -EINVAL;
    Unit& opened = *units_[unit];
    if (opened.exclusive > 0 || (!is_shared && opened.shared > 0)) return -EBUSY;
    ++(is_shared ? opened.shared : opened.exclusive);
  }
  ++client.contexts[unit];
  return 0;
}

int Board::CloseContext(Client& client, unsigned unit) {
  std::unique_lock<std::mutex> lock(mutex_);
  // What its owner has started there ends with it.
  if (unit < units_.size()) CancelCommands(&client, lock);
  const auto found = client.contexts.find(unit);
  if (found == client.contexts.end()) return -EINVAL;
  if (unit < units_.size()) {
    Unit& closed = *units_[unit];
    --(closed.exclusive > 0 ? closed.exclusive : closed.shared);
  }
  if (--found->second == 0) client.contexts.erase(found);
  return 0;
}

unsigned Board::Allocate(Client& client, void* host, uint64_t bytes, unsigned flags) {
  const bool is_command = (flags & XCL_BO_FLAGS_EXECBUF) != 0;
  const bool is_device_only = (flags & XCL_BO_FLAGS_DEV_ONLY) != 0;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (client.is_lost || bytes == 0) return 0;
  BufferObject buffer;
  buffer.bytes = bytes;
  buffer.flags = flags;
  buffer.host = host;
  if (!is_command) {
    buffer.bank = flags & XRT_BO_FLAGS_MEMIDX_MASK;
    if (buffer.bank >= memory_.bank_count()) return 0;
    buffer.address = memory_.bank(buffer.bank).Allocate(bytes);
    if (buffer.address == 0) return 0;
  }
  if (host == nullptr && !is_device_only) {
    const uint64_t rounded = (bytes + kPage - 1) / kPage * kPage;
    buffer.host = std::aligned_alloc(kPage, rounded);
    if (buffer.host == nullptr) return 0;
    std::memset(buffer.host, 0, rounded);
    buffer.owns_host = true;
  }
  const unsigned handle = client.next_buffer++;
  client.buffers[handle] = buffer;
  ++Count().buffers_allocated;
  return handle;
}

void Board::Free(Client& client, unsigned buffer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = client.buffers.find(buffer);
  if (found == client.buffers.end()) return;
  if (found->second.owns_host) std::free(found->second.host);
  if (found->second.address != 0) memory_.bank(found->second.bank).Free(found->second.address);
  client.buffers.erase(found);
  ++Count().buffers_freed;
}

const BufferObject* Board::Find(const Client& client, unsigned buffer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = client.buffers.find(buffer);
  return found == client.buffers.end() ? nullptr : &found->second;
}

int Board::Copy(Client& client, unsigned buffer, bool to_device, uint64_t bytes, uint64_t offset) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (client.is_lost) return -ENODEV;
  const auto found = client.buffers.find(buffer);
  if (found == client.buffers.end()) return -ENOENT;
  const BufferObject& object = found->second;
  if (object.host == nullptr || bytes > object.bytes || offset > object.bytes - bytes) {
    return -EINVAL;
  }
  uint8_t* const device = memory_.At(object.address + offset, bytes);
  uint8_t* const host = static_cast<uint8_t*>(object.host) + offset;
  if (device == nullptr) return -EINVAL;
  if (to_device) {
    std::memcpy(device, host, bytes);
    ++Count().syncs_to_device;
    Count().bytes_to_device += bytes;
  } else {
    std::memcpy(host, device, bytes);
    ++Count().syncs_from_device;
    Count().bytes_from_device += bytes;
  }
  return 0;
}

}  // namespace tenon::fpga::sim
