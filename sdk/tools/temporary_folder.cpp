#include "sdk/tools/temporary_folder.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include "sdk/tools/tool.hpp"

namespace tenon::tool {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

// What a signal handler may read: no object with a constructor, no allocation.
char removed_path[4096];    // the folder's path and a slash, room for a file's name
size_t removed_length = 0;  // of it, without a file's name
volatile sig_atomic_t armed = 0;
struct sigaction previous[std::size(kSignals)];

/// "0007.tenon": written by hand, as a handler may call next to nothing.
void AppendName(char* to, int index) {
  for (int digit = 3; digit >= 0; --digit, index /= 10) {
    to[digit] = static_cast<char>('0' + index % 10);
  }
  std::memcpy(to + 4, ".tenon", sizeof ".tenon");
}

void RemoveAndEnd(int signal_number) {
  if (armed != 0) {
    armed = 0;
    for (int i = 0; i < TemporaryFolder::kMostFiles; ++i) {
      AppendName(removed_path + removed_length, i);
      unlink(removed_path);
    }
    removed_path[removed_length] = '\0';
    rmdir(removed_path);
  }
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

void Arm() {
  armed = 1;
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    struct sigaction action {};
    action.sa_handler = RemoveAndEnd;
    sigfillset(&action.sa_mask);
    sigaction(kSignals[i], nullptr, &previous[i]);
    // What the caller had ignored (nohup) stays ignored.
    if (previous[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

void Disarm() {
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &previous[i], nullptr);
  armed = 0;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  if (error) Fail(kDeviceFailure, "no folder for temporary files: {}", error.message());
  std::string name = (parent / "tenon-XXXXXX").string();
  if (name.size() + 16 > sizeof removed_path || mkdtemp(name.data()) == nullptr) {
    Fail(kDeviceFailure, "cannot create '{}': {}", name, std::strerror(errno));
  }
  path_ = name;
  name += '/';
  std::memcpy(removed_path, name.c_str(), name.size() + 1);
  removed_length = name.size();
  Arm();
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  Disarm();
}

std::filesystem::path TemporaryFolder::File(int index) const {
  char name[16];
  AppendName(name, index);
  return path_ / name;
}

std::string TemporaryFolder::Write(int index, const void* data, size_t bytes) const {
  std::string file = File(index).string();
  std::ofstream stream(file, std::ios::binary);
  stream.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  stream.close();
  if (!stream) Fail(kDeviceFailure, "cannot write '{}': {}", file, std::strerror(errno));
  return file;
}

void TemporaryFolder::Remove(int index) const {
  std::error_code ignored;
  std::filesystem::remove(File(index), ignored);
}

}  // namespace tenon::tool
