// How many threads one plan may use.
#pragma once

namespace tenon {

/// More are a mistake: memory is taken for each, and thread libraries end the program over it.
inline constexpr int kMostThreads = 1024;

}  // namespace tenon
