/* Arm semihosting ("Semihosting for AArch32 and AArch64", Arm ABI documents, 2.0): operations that
 * the debugger or emulator does for the program. */
#include "board.h"

enum {
  kOpen = 0x01,
  kClose = 0x02,
  kWrite = 0x05,
  kRead = 0x06,
  kLength = 0x0c,
  kExitExtended = 0x20,
};
enum { kReadBinary = 1, kWriteText = 4, kWriteBinary = 5 };
enum { kApplicationExit = 0x20026 };

int board_semihosting(int operation, const void* argument) {
  register int r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

/* Not strlen, into which the compiler would turn the loop without the barrier: firmware takes
 * nothing but mem* of the C library. */
static size_t Length(const char* text) {
  size_t length = 0;
  while (text[length] != '\0') {
    ++length;
    __asm__ volatile("");
  }
  return length;
}

static int Open(const char* path, int mode) {
  const uint32_t block[] = {(uint32_t)path, (uint32_t)mode, Length(path)};
  return board_semihosting(kOpen, block);
}

/* Bytes that were not written. */
static int Write(int file, const void* bytes, size_t size) {
  const uint32_t block[] = {(uint32_t)file, (uint32_t)bytes, size};
  return board_semihosting(kWrite, block);
}

static void Close(int file) {
  const uint32_t block[] = {(uint32_t)file};
  (void)board_semihosting(kClose, block);
}

void board_print(const char* text) {
  static int console = -1;
  if (console < 0) console = Open(":tt", kWriteText);
  (void)Write(console, text, Length(text));
}

void board_print_number(int64_t number) {
  char digits[24];
  char* first = digits + sizeof digits - 1;
  *first = '\0';
  uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
  do {
    *--first = (char)('0' + left % 10);
    left /= 10;
  } while (left > 0);
  if (number < 0) *--first = '-';
  board_print(first);
}

void board_exit(int status) {
  const uint32_t block[] = {kApplicationExit, (uint32_t)status};
  (void)board_semihosting(kExitExtended, block);
  for (;;) {
  }
}

long board_read_file(const char* path, void* memory, size_t most) {
  const int file = Open(path, kReadBinary);
  if (file < 0) return -1;
  const uint32_t length_block[] = {(uint32_t)file};
  const int length = board_semihosting(kLength, length_block);
  const size_t wanted = length < 0 ? 0 : (size_t)length < most ? (size_t)length : most;
  const uint32_t block[] = {(uint32_t)file, (uint32_t)memory, wanted};
  const int left = wanted == 0 ? 0 : board_semihosting(kRead, block);
  Close(file);
  return length < 0 || left != 0 ? -1 : (long)length;
}

int board_write_file(const char* path, const void* bytes, size_t size) {
  const int file = Open(path, kWriteBinary);
  if (file < 0) return -1;
  const int left = Write(file, bytes, size);
  Close(file);
  return left == 0 ? 0 : -1;
}
