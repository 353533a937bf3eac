#include "backends/cpu/kernels/portable/kernels.hpp"
