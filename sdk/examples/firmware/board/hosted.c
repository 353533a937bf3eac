/* For programs with the whole C library (tests): its heap and its end. Link with
 * --specs=rdimon.specs, whose files are the workstation's. */
#include <errno.h>
#include <stddef.h>

#include "board.h"

extern char board_heap_start[], board_heap_end[];

/* What C++ tells apart loaded programs by; there is one. */
extern void* __dso_handle;
void* __dso_handle = 0;

/* exit() calls this after the destructors; there is nothing more to end. */
void _fini(void);
void _fini(void) {}

void* _sbrk(ptrdiff_t bytes);
void* _sbrk(ptrdiff_t bytes) {
  static char* end = board_heap_start;
  if (bytes > board_heap_end - end || bytes < board_heap_start - end) {
    errno = ENOMEM;
    return (void*)-1;
  }
  char* const given = end;
  end += bytes;
  return given;
}

void _exit(int status) { board_exit(status); }
