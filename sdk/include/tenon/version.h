/* Tenon's version: the one place where it stands; CMake reads it from here. Part of tenon.h. */
#ifndef TENON_VERSION_H_
#define TENON_VERSION_H_

/* Until 1.0 a new minor version may change the binary interface, and the shared library's SONAME
 * with it; a new patch version never does. */
#define TENON_VERSION_MAJOR 0
#define TENON_VERSION_MINOR 1
#define TENON_VERSION_PATCH 0

/* To compare: "#if TENON_VERSION_NUMBER >= TENON_MAKE_VERSION(0, 2, 0)". */
#define TENON_MAKE_VERSION(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define TENON_VERSION_NUMBER \
  TENON_MAKE_VERSION(TENON_VERSION_MAJOR, TENON_VERSION_MINOR, TENON_VERSION_PATCH)

#endif /* TENON_VERSION_H_ */
