// What is left to try with a model that does not fit a microcontroller.
#pragma once

#include "converter/driver/pipeline.hpp"

namespace tenon::converter {

/// Adds to a refusal (kDoesNotFit) of `options` what each option that needs less would give:
/// weights in 8 bits, arithmetic in 8 bits, inputs as bytes, half the size of images. Each is
/// tried, one after the other, for `seconds` in all; what there was no time for is named too.
/// Limits above the bytes of `chip`, the board as it is without limits of the user's, are taken
/// back. Does nothing for boards that are no microcontrollers.
void AddWhatIsLeft(const ConvertOptions& options, const Board& chip, double seconds, Error& error);

}  // namespace tenon::converter
