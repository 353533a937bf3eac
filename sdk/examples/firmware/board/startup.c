/* From reset to main on Armv6-M, Armv7-M and Armv8-M cores: vectors, floating point and Helium on
 * where they are, memory set up, faults reported. */
#include <stdint.h>

#include "board.h"

/* Set by the linker script (sections.ld). */
extern uint32_t board_data_load[], board_data_start[], board_data_end[];
extern uint32_t board_bss_start[], board_bss_end[], board_stack_end[];
typedef void (*Handler)(void);
extern const Handler board_constructors_start[], board_constructors_end[]; /* of C++ objects */

/* There where the C library's own input and output are linked, and where arguments.c is. */
void initialise_monitor_handles(void) __attribute__((weak));
int board_arguments(char** words, int most) __attribute__((weak));

int main(int argc, char** argv);

void board_reset(void) __attribute__((naked, noreturn));
void board_start(uint32_t* stack) __attribute__((noreturn, used));
void board_fault(const uint32_t* frame) __attribute__((noreturn, used));
void board_on_fault(void) __attribute__((naked, noreturn));
void board_on_tick(void);

enum { kExceptions = 16, kInterrupts = 96, kSysTick = 15 };

/* The vector table: the first stack pointer, then one handler for each exception. */
__attribute__((section(".vectors"), used)) static const struct {
  uint32_t* stack;
  Handler handlers[kExceptions + kInterrupts - 1];
} board_vectors = {
    board_stack_end,
    {board_reset, board_on_fault, board_on_fault, board_on_fault, board_on_fault, board_on_fault,
     board_on_fault, 0, 0, 0, board_on_fault, board_on_fault, 0, board_on_fault, board_on_tick,
     board_on_fault},
};

/* Floating point and Helium share the switches of coprocessors 10 and 11 (Coprocessor Access
 * Control Register, Armv8-M Architecture Reference Manual, D1.2.12); before they are on, no
 * compiled function may run. */
void board_reset(void) {
  __asm__ volatile(
#ifdef __ARM_FP
      "ldr r0, =0xe000ed88\n"
      "ldr r1, [r0]\n"
      "orr r1, r1, #0x00f00000\n"
      "str r1, [r0]\n"
      "dsb\n"
      "isb\n"
#endif
      "mov r0, sp\n"
      "bl board_start\n");
}

/* What no call has written to yet. */
#define UNUSED_STACK 0x5ac4b1e5u

void board_start(uint32_t* stack) {
  const uint32_t* from = board_data_load;
  for (uint32_t* to = board_data_start; to < board_data_end; ++to) *to = *from++;
  for (uint32_t* to = board_bss_start; to < board_bss_end; ++to) *to = 0;
  /* This function's own frame lies within 256 bytes of the top. */
  for (volatile uint32_t* to = board_bss_end; to < stack - 64; ++to) *to = UNUSED_STACK;

  if (initialise_monitor_handles != 0) initialise_monitor_handles();
  for (const Handler* constructor = board_constructors_start; constructor < board_constructors_end;
       ++constructor) {
    (*constructor)();
  }

  enum { kMostWords = 32 };
  char* words[kMostWords + 1] = {0};
  const int count = board_arguments != 0 ? board_arguments(words, kMostWords) : 0;
  board_exit(main(count, words));
}

size_t board_stack_used(void) {
  const volatile uint32_t* deepest = board_bss_end;
  while (deepest < board_stack_end && *deepest == UNUSED_STACK) ++deepest;
  return (size_t)((const volatile uint8_t*)board_stack_end - (const volatile uint8_t*)deepest);
}

/* An exception without a handler of its own. r0: the registers that the core saved: r0-r3, r12, lr,
 * pc, status. */
void board_on_fault(void) {
  __asm__ volatile(
      ".syntax unified\n"
      "mov r0, lr\n"
      "lsls r0, r0, #29\n" /* the sign: bit 2 */
      "bmi 1f\n"
      "mrs r0, msp\n"
      "bl board_fault\n"
      "1: mrs r0, psp\n"
      "bl board_fault\n");
}

static void PrintHex(const char* name, uint32_t value) {
  char digits[] = " 0x00000000";
  for (int i = 0; i < 8; ++i) digits[10 - i] = "0123456789abcdef"[value >> 4 * i & 15];
  board_print(name);
  board_print(digits);
}

void board_fault(const uint32_t* frame) {
  uint32_t exception;
  __asm__ volatile("mrs %0, ipsr" : "=r"(exception));
  const uint32_t configurable = *(volatile uint32_t*)0xe000ed28u; /* CFSR */
  const uint32_t address = *(volatile uint32_t*)0xe000ed38u;      /* BFAR */
  PrintHex("board: fault: exception", exception);
  PrintHex(", pc", frame[6]);
  PrintHex(", lr", frame[5]);
  PrintHex(", CFSR", configurable);
  PrintHex(", BFAR", address);
  board_print("\n");
  board_exit(70);
}
