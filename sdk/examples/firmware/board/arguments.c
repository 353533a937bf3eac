/* The command line, for programs that link this file. */
#include "board.h"

int board_arguments(char** words, int most) {
  enum { kCommandLine = 0x15 };
  static char line[1024];
  const uint32_t block[] = {(uint32_t)line, sizeof line};
  if (board_semihosting(kCommandLine, block) != 0) return 0;
  line[sizeof line - 1] = '\0';
  int count = 0;
  for (char* next = line; *next != '\0' && count < most;) {
    while (*next == ' ') ++next;
    if (*next == '\0') break;
    words[count++] = next;
    while (*next != ' ' && *next != '\0') ++next;
    if (*next == ' ') *next++ = '\0';
  }
  return count;
}
