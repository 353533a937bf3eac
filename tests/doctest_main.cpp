#ifdef __arm__
#ifndef __linux__
// Bare metal: no signals; a fault is reported by the board's start-up code.
#define DOCTEST_CONFIG_NO_POSIX_SIGNALS
#endif
#endif
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
