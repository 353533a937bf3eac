// A library to preload: the n-th call that changes a file fails or waits.
//
// TENON_FAULT_CALLS: names with commas between them (write fsync fchmod linkat link rename
// tmpfile); "tmpfile" is open with O_TMPFILE. TENON_FAULT_AT: which of those calls, from 1; 0: all
// of them. TENON_FAULT_ERROR: errno of the failure, or 0 to wait for 20 seconds and then go on.
// TENON_NO_TMPFILE: set on file systems without O_TMPFILE.
// TENON_FAULT_MARK: a file that is made when the fault happens.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int is_named(const char* call) {
  const char* calls = getenv("TENON_FAULT_CALLS");
  const size_t length = strlen(call);
  while (calls != NULL && *calls != '\0') {
    const char* end = strchrnul(calls, ',');
    if ((size_t)(end - calls) == length && memcmp(calls, call, length) == 0) return 1;
    calls = *end == ',' ? end + 1 : end;
  }
  return 0;
}

static int number(const char* variable) {
  const char* text = getenv(variable);
  return text == NULL ? 0 : atoi(text);
}

/// 1 if this call fails, with errno set.
static int fails(const char* call) {
  static int count;
  if (!is_named(call)) return 0;
  const int at = number("TENON_FAULT_AT");
  if (at != 0 && ++count != at) return 0;
  // A signal that comes once the mark is there must end the wait, as it ends one for a disk: it is
  // held back until the wait has begun.
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const char* mark = getenv("TENON_FAULT_MARK");
  if (mark != NULL) {
    syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, mark, O_CREAT | O_WRONLY, 0600));
  }
  const int error = number("TENON_FAULT_ERROR");
  const struct timespec wait = {20, 0};
  const int is_ended = error == 0 && ppoll(NULL, 0, &wait, &before) != 0;
  sigprocmask(SIG_SETMASK, &before, NULL);
  errno = error != 0 ? error : EINTR;
  return error != 0 || is_ended;
}

static int is_regular(int file) {
  struct stat info;
  return fstat(file, &info) == 0 && S_ISREG(info.st_mode);
}

ssize_t write(int file, const void* data, size_t bytes) {
  if (is_regular(file) && fails("write")) return -1;
  return syscall(SYS_write, file, data, bytes);
}

int fsync(int file) { return fails("fsync") ? -1 : (int)syscall(SYS_fsync, file); }

int fchmod(int file, mode_t mode) {
  return fails("fchmod") ? -1 : (int)syscall(SYS_fchmod, file, mode);
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  if (fails("linkat")) return -1;
  return (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
}

int link(const char* from, const char* to) {
  return fails("link") ? -1 : (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int rename(const char* from, const char* to) {
  return fails("rename") ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & (O_CREAT | __O_TMPFILE)) != 0) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
  }
  if ((flags & O_TMPFILE) == O_TMPFILE) {
    if (getenv("TENON_NO_TMPFILE") != NULL) {
      errno = EOPNOTSUPP;
      return -1;
    }
    if (fails("tmpfile")) return -1;
  }
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
