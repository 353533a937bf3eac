/* SysTick as a counter of 64 bits. */
#include "board.h"

static volatile uint32_t* const kControl = (volatile uint32_t*)0xe000e010u;
static volatile uint32_t* const kReload = (volatile uint32_t*)0xe000e014u;
static volatile uint32_t* const kCurrent = (volatile uint32_t*)0xe000e018u;

#define TICKS_PER_ROUND (1u << 24)

static volatile uint32_t rounds;
static uint64_t last; /* what board_ticks gave last */

void board_on_tick(void);
void board_on_tick(void) { ++rounds; }

void board_start_ticks(void) {
  *kReload = TICKS_PER_ROUND - 1;
  *kCurrent = 0;
  rounds = 0;
  last = 0;
  *kControl = 7; /* on, with interrupt, from the core's clock */
}

uint64_t board_ticks(void) {
  uint32_t round;
  uint32_t left;
  do {
    round = rounds;
    left = *kCurrent;
  } while (round != rounds);
  /* The count goes down from the top. */
  uint64_t now = (uint64_t)round * TICKS_PER_ROUND + (TICKS_PER_ROUND - 1 - left);
  /* The timer may have begun a round whose interrupt is still on its way; and an emulated one may
   * stand a tick further back than before. */
  if (last > now + TICKS_PER_ROUND / 2) now += TICKS_PER_ROUND;
  if (now > last) last = now;
  return last;
}
