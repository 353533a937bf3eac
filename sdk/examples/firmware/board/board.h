/* The little that a firmware program needs of a board: start-up (startup.c), words and numbers to
 * the workstation and files from it over Arm semihosting (a debugger's or emulator's answer to the
 * instruction BKPT 0xAB), and a counter. Replace it with your board's own support package. */
#ifndef TENON_EXAMPLES_FIRMWARE_BOARD_H_
#define TENON_EXAMPLES_FIRMWARE_BOARD_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Puts a variable that has no initial value into the large SRAM, or the slower memory behind it.
 * Start-up does not clear these two. */
#define BOARD_IN_SRAM __attribute__((section(".bss.board.sram")))
#define BOARD_IN_PSRAM __attribute__((section(".bss.board.psram")))

/* Writes text that ends in NUL to the workstation's standard output. */
void board_print(const char* text);
/* Writes the number in decimal digits. */
void board_print_number(int64_t number);

/* Ends the program; `status` becomes the emulator's exit status. main's result comes here too. */
void board_exit(int status) __attribute__((noreturn));

/* Words of the command line that the emulator was given (arg=...), the program's name first. Gives
 * their number, at most `most`. More words, and a line of more than 1 KB, are lost. Where
 * arguments.c is linked, main gets them. */
int board_arguments(char** words, int most);

/* Reads a file of the workstation into `memory`. Gives its size in bytes, of which at most `most`
 * were read, or -1 if it cannot be read. */
long board_read_file(const char* path, void* memory, size_t most);
/* Gives 0, or -1 if the file cannot be written. */
int board_write_file(const char* path, const void* bytes, size_t size);

/* Starts the core's SysTick timer, with its interrupt; then board_ticks() counts its ticks. Under
 * `qemu-system-arm -icount` the count depends on the instructions executed alone. */
void board_start_ticks(void);
uint64_t board_ticks(void);

/* One semihosting operation, with its block of arguments; gives its result. */
int board_semihosting(int operation, const void* argument);

/* Bytes of the deepest use of the stack since the program started. */
size_t board_stack_used(void);

#ifdef __cplusplus
}
#endif

#endif /* TENON_EXAMPLES_FIRMWARE_BOARD_H_ */
