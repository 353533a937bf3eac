// The part of tenon.h for systems with files and a heap.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "runtime/base/huge_pages.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/engine/host/clock.hpp"
#include "runtime/engine/host/lent_arenas.hpp"
#include "runtime/format/plan_view.hpp"
#include "sdk/src/backends_of_plan.hpp"
#include "sdk/src/handles.hpp"

namespace {

using tenon::OkStatus;
using tenon::PlanView;
using tenon::Result;
using tenon::Span;
using tenon::Status;
using tenon::StatusCode;
using tenon::sdk::Report;

Status CannotOpen(const char* path, int error) {
  const char* words = "cannot open plan '{s}'";
  if (error == ENOENT || error == ENOTDIR) words = "cannot open plan '{s}': no such file";
  if (error == EACCES) words = "cannot open plan '{s}': this process may not read it";
  return Status(StatusCode::kIoError, words).About(path);
}

/// Fills memory from a file that must have as many bytes.
Status ReadWhole(int file, uint8_t* data, size_t bytes, const char* path) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t count = read(file, data + done, bytes - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      return Status(StatusCode::kIoError,
                    count == 0 ? "plan '{s}' became shorter while it was read: write a new file "
                                 "and rename it"
                               : "cannot read plan '{s}'")
          .About(path);
    }
    done += static_cast<size_t>(count);
  }
  return OkStatus();
}

/// A file in read-only memory, which is given back unless released. The memory is this process's
/// own (or, on demand, the file's: then whoever changes the file changes it).
class FileMemory {
 public:
  explicit FileMemory(bool is_mapped) : is_mapped_(is_mapped) {}
  FileMemory(const FileMemory&) = delete;
  FileMemory& operator=(const FileMemory&) = delete;
  ~FileMemory() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }

  Status Open(const char* path) {
    // A pipe would wait for its writer.
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return CannotOpen(path, errno);
    struct stat info {};
    Status status;
    if (fstat(file, &info) == 0 && S_ISDIR(info.st_mode)) {
      status = Status(StatusCode::kIoError, "plan '{s}' is a directory").About(path);
    } else if (!S_ISREG(info.st_mode)) {
      status = Status(StatusCode::kIoError, "plan '{s}' is not a regular file").About(path);
    } else if (info.st_size == 0) {
      status = Status(StatusCode::kCorruptPlan, "plan '{s}' is empty").About(path);
    } else {
      bytes_ = static_cast<size_t>(info.st_size);
      status = is_mapped_ ? Map(file, path) : Read(file, path);
    }
    close(file);
    return status;
  }
  [[nodiscard]] Span<const uint8_t> bytes() const {
    return {static_cast<const uint8_t*>(data_), bytes_};
  }
  void* Release() {
    void* data = data_;
    data_ = nullptr;
    return data;
  }

 private:
  Status Map(int file, const char* path) {
    void* data = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED) {
      return Status(StatusCode::kIoError, "cannot map plan '{s}'").About(path);
    }
    data_ = data;
    return OkStatus();
  }
  Status Read(int file, const char* path) {
    void* data = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) {
      return Status(StatusCode::kOutOfMemory, "cannot allocate {0} bytes for plan '{s}'",
                    static_cast<int64_t>(bytes_))
          .About(path);
    }
    data_ = data;
    // A hint: hundreds of times fewer page faults, which take longer than the reading.
    tenon::AdviseHugePages(data, bytes_);
    TENON_RETURN_IF_ERROR(ReadWhole(file, static_cast<uint8_t*>(data), bytes_, path));
    mprotect(data, bytes_, PROT_READ);  // nothing writes there: a mistake shows at once
    return OkStatus();
  }

  bool is_mapped_;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

/// Heap memory, freed unless released.
class HeapBlock {
 public:
  HeapBlock(size_t bytes, size_t alignment)
      : bytes_(tenon::RoundUp(bytes, alignment)), data_(std::aligned_alloc(alignment, bytes_)) {}
  HeapBlock(const HeapBlock&) = delete;
  HeapBlock& operator=(const HeapBlock&) = delete;
  ~HeapBlock() { std::free(data_); }

  [[nodiscard]] bool ok() const { return data_ != nullptr; }
  [[nodiscard]] Span<uint8_t> bytes() const { return {static_cast<uint8_t*>(data_), bytes_}; }
  void Release() { data_ = nullptr; }

 private:
  size_t bytes_;
  void* data_;
};

/// Where the program is not in the plan, the words say how it gets there.
Status FindProgram(const PlanView& view, const char* name, size_t* program) {
  TENON_ENSURE(view.program_count() > 0, kCorruptPlan, "the plan holds no program");
  *program = tenon::sdk::kFirstProgram;
  if (name == nullptr) return OkStatus();
  for (; *program < view.program_count(); ++*program) {
    if (std::strcmp(view.program(*program).name(), name) == 0) return OkStatus();
  }
  const char* words = "the plan has no program '{s}': 'tenon inspect' shows those that it has";
  if (std::strcmp(name, "pipeline") == 0) {
    words = "the plan has no program '{s}': convert with --parallel=pipeline";
  } else if (std::strcmp(name, "inter") == 0) {
    words = "the plan has no program '{s}': convert with --parallel=inter";
  }
  return Status(StatusCode::kFailedPrecondition, words).About(name);
}

Status LoadOpened(const PlanView& view, const char* program_name, const tenon_backends& backends,
                  int32_t threads, tenon_plan** plan) {
  size_t program = 0;
  TENON_RETURN_IF_ERROR(FindProgram(view, program_name, &program));
  const size_t state_bytes = tenon::sdk::PlanStateBytes(view, program);
  const size_t scratch_bytes = tenon::sdk::Plan::ScratchBytes(view, program);
  HeapBlock state(state_bytes, 64);
  HeapBlock scratch(scratch_bytes, 64);
  TENON_ENSURE(state.ok() && scratch.ok(), kOutOfMemory, "cannot allocate {0} + {1} bytes",
               static_cast<int64_t>(state_bytes), static_cast<int64_t>(scratch_bytes));
  TENON_RETURN_IF_ERROR(
      tenon::sdk::LoadInto(view, backends, threads, state.bytes(), scratch.bytes(), plan, program));
  state.Release();
  return OkStatus();
}

/// Reports while the file is still in memory: errors may name things inside it.
tenon_status OpenFile(const char* path, bool is_mapped, const char* program,
                      const tenon_backends* given, int32_t threads, tenon_plan** plan,
                      tenon_error* error) {
  FileMemory memory(is_mapped);
  if (const Status status = memory.Open(path); !status.ok()) return Report(status, error);
  const Result<PlanView> view = PlanView::Open(memory.bytes());
  if (!view.ok()) return Report(view.status(), error);
  const tenon_backend* named[tenon::kMaxBackends] = {};
  tenon_backends backends = {named, 0};
  if (given != nullptr) {
    backends = *given;
  } else {
    backends.count = tenon::sdk::BackendsOfPlan(*view, {named, tenon::kMaxBackends});
  }
  const tenon_status code = Report(LoadOpened(*view, program, backends, threads, plan), error);
  if (code == TENON_OK) {
    (*plan)->loaded.mapping_bytes = memory.bytes().size();
    (*plan)->loaded.mapping = memory.Release();
  }
  return code;
}

tenon_status OpenPlan(const char* path, bool is_mapped, const char* program,
                      const tenon_backends* backends, int32_t threads, tenon_plan** plan,
                      tenon_error* error) {
  if (path == nullptr || plan == nullptr) {
    return Report(Status(StatusCode::kInvalidArgument, "argument '{s}' is NULL")
                      .About(path == nullptr ? "path" : "plan"),
                  error);
  }
  *plan = nullptr;
  return OpenFile(path, is_mapped, program, backends, threads, plan, error);
}

// No model that is worth running takes a device so long.
constexpr uint64_t kDefaultTimeout = uint64_t{60} * 1000 * 1000 * 1000;

/// State and arenas in one block, each arena at its own alignment, but for those that a device
/// lends.
Status OpenSession(const tenon_plan* plan, tenon_session** session, tenon_error* error,
                   tenon_status* code) {
  const size_t arena_count = tenon_plan_arena_count(plan);
  const size_t state_bytes = tenon_session_state_size(plan);
  size_t alignment = 64;
  size_t bytes = tenon::RoundUp(state_bytes, alignment);
  std::unique_ptr<tenon::LentArenas> lent(new (std::nothrow) tenon::LentArenas);
  TENON_ENSURE(lent != nullptr, kOutOfMemory, "no memory for a session");
  TENON_RETURN_IF_ERROR(lent->Borrow(plan->loaded));
  for (size_t i = 0; i < arena_count; ++i) {
    if (lent->base(i) != nullptr) continue;
    const tenon::ArenaInfo info = plan->loaded.program().arena(i);
    alignment = info.alignment > alignment ? info.alignment : alignment;
    // Loading has checked that all arenas together can be addressed.
    bytes = tenon::RoundUp(bytes, info.alignment) + static_cast<size_t>(tenon::ArenaBytes(info));
  }
  // Needed only while the session is created.
  HeapBlock bases(tenon::RoundUp(arena_count * sizeof(tenon_memory) + 1, 16), 16);
  HeapBlock block(bytes, alignment);
  TENON_ENSURE(block.ok() && bases.ok(), kOutOfMemory, "cannot allocate {0} bytes for a session",
               static_cast<int64_t>(bytes));
  auto* arenas = reinterpret_cast<tenon_memory*>(bases.bytes().data());
  size_t offset = tenon::RoundUp(state_bytes, 64);
  for (size_t i = 0; i < arena_count; ++i) {
    const tenon::ArenaInfo info = plan->loaded.program().arena(i);
    arenas[i] = {lent->base(i), static_cast<size_t>(tenon::ArenaBytes(info))};
    if (arenas[i].data != nullptr) continue;
    offset = tenon::RoundUp(offset, info.alignment);
    arenas[i].data = block.bytes().data() + offset;
    offset += arenas[i].bytes;
  }
  *code = tenon_session_create(plan, block.bytes().data(), state_bytes, arenas, arena_count,
                               session, error);
  if (*code == TENON_OK) {
    (*session)->session.allocation = block.bytes().data();
    (*session)->session.lent = lent.release();
    block.Release();
    tenon_session_set_timeout(*session, kDefaultTimeout, tenon::MonotonicNow);
  }
  return OkStatus();
}

}  // namespace

extern "C" {

tenon_status tenon_plan_open(const char* path, const tenon_backends* backends, int32_t threads,
                             tenon_plan** plan, tenon_error* error) {
  return tenon_plan_open_program(path, nullptr, backends, threads, plan, error);
}

tenon_status tenon_plan_open_program(const char* path, const char* program,
                                     const tenon_backends* backends, int32_t threads,
                                     tenon_plan** plan, tenon_error* error) {
  return OpenPlan(path, /*is_mapped=*/false, program, backends, threads, plan, error);
}

tenon_status tenon_plan_open_mapped(const char* path, const char* program,
                                    const tenon_backends* backends, int32_t threads,
                                    tenon_plan** plan, tenon_error* error) {
  return OpenPlan(path, /*is_mapped=*/true, program, backends, threads, plan, error);
}

void tenon_plan_close(tenon_plan* plan) {
  if (plan == nullptr) return;
  tenon_plan_unload(plan);
  const tenon::sdk::Plan& opened = plan->loaded;
  if (opened.mapping != nullptr) munmap(opened.mapping, opened.mapping_bytes);
  std::free(plan);
}

tenon_status tenon_session_open(const tenon_plan* plan, tenon_session** session,
                                tenon_error* error) {
  if (session == nullptr) return Report(tenon::sdk::NullArgument("session"), error);
  *session = nullptr;
  const Status loaded = tenon::sdk::CheckLoaded(plan);
  if (!loaded.ok()) return Report(loaded, error);
  tenon_status code = TENON_OK;
  const Status status = OpenSession(plan, session, error, &code);
  return status.ok() ? code : Report(status, error);
}

void tenon_session_close(tenon_session* session) {
  if (session == nullptr) return;
  const bool has_plan = tenon::sdk::CheckOpen(session).ok();
  // A device that has not answered may write there yet: better lost than used twice.
  const bool is_over = !has_plan || session->session.Close();
  session->mark = 0;
  tenon::LentArenas* const lent = session->session.lent;
  // Without the plan the device is closed, and has taken back what it lent.
  if (lent != nullptr && !(has_plan && is_over)) lent->Leak();
  delete lent;
  if (is_over) std::free(session->session.allocation);
}

}  // extern "C"
