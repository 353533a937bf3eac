// What every build of the accelerator can do, whatever its size: bounds of its descriptors.
#pragma once

#include <cstdint>

namespace tenon::fpga {

/// Parts of maps begin at a multiple of so many channels: what all sizes of groups divide.
inline constexpr int kGroupChannels = 32;
/// Rows and columns of a window.
inline constexpr int kMostKernel = 15;
inline constexpr int kMostStride = 15;
inline constexpr int kMostDilation = 15;
inline constexpr int kMostPadding = 255;
/// Rows and columns of a feature map, and rows of a matrix.
inline constexpr int kMostExtent = 4096;
inline constexpr int kMostChannels = 65535;
/// Elements of a window that is averaged: sums stay exact in the float that scales them.
inline constexpr int kMostAveraged = 4096;

}  // namespace tenon::fpga
