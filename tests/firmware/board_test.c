/* The board's support under sdk/examples/firmware/board; CTest reads what it prints. */
#include "board.h"

#include <string.h>

static int set = 42;
static int unset;
static uint8_t large[100000] BOARD_IN_SRAM;
static uint8_t larger[4000000] BOARD_IN_PSRAM;

static int Memory(void) {
  if (set != 42 || unset != 0) return 1;
  memset(large, 0x5a, sizeof large);
  memset(larger, 0xa5, sizeof larger);
  for (size_t i = 0; i < sizeof large; ++i) {
    if (large[i] != 0x5a) return 2;
  }
  for (size_t i = 0; i < sizeof larger; ++i) {
    if (larger[i] != 0xa5) return 3;
  }
  return 0;
}

static __attribute__((noinline)) uint32_t UseStack(void) {
  volatile uint8_t bytes[5000];
  for (size_t i = 0; i < sizeof bytes; ++i) bytes[i] = (uint8_t)i;
  uint32_t sum = 0;
  for (size_t i = 0; i < sizeof bytes; ++i) sum += bytes[i];
  return sum;
}

static int Stack(void) {
  const size_t before = board_stack_used();
  if (UseStack() == 0) return 1;
  const size_t after = board_stack_used();
  return before < 2000 && after >= 5000 && after < 8000 ? 0 : 2;
}

/* The count goes on, over several rounds of the 24-bit timer. */
static int Ticks(void) {
  board_start_ticks();
  uint64_t last = board_ticks();
  for (uint32_t i = 0; i < 200000000u && last < (5u << 24); ++i) {
    const uint64_t now = board_ticks();
    if (now < last) return 1;
    last = now;
  }
  return last >= (5u << 24) ? 0 : 2;
}

static void Answer(const char* what, int mistake) {
  board_print(what);
  if (mistake == 0) {
    board_print(": ok\n");
  } else {
    board_print(": mistake ");
    board_print_number(mistake);
    board_print("\n");
  }
}

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "arguments") == 0) {
    board_print("arguments: ");
    board_print_number(argc - 1);
    board_print(":");
    for (int i = 1; i < argc; ++i) {
      board_print(" ");
      board_print(argv[i]);
    }
    board_print("\n");
  } else if (strcmp(what, "memory") == 0) {
    Answer(what, Memory());
  } else if (strcmp(what, "stack") == 0) {
    Answer(what, Stack());
  } else if (strcmp(what, "ticks") == 0) {
    Answer(what, Ticks());
  } else if (strcmp(what, "fault") == 0) {
    __asm__ volatile("udf #0");
  } else {
    return 3;
  }
  return 0;
}
