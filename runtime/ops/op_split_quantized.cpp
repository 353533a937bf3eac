// Splitting of quantized ops: as their float forms, and the parameters of channels with them.
#include <initializer_list>

#include "runtime/ops/op_split_rows.hpp"

namespace tenon::split {
namespace {

/// A vector with one element for all or one for each: cut where the channels are.
InputSplit OneOrEach(const OpCall& call, int input) {
  return call.HasInput(input) && call.Input(input).dims[0] != 1 ? Along(0) : Whole();
}

/// Biases, multiplier, shift and zero points of the weights, cut along the output's channels.
void SplitChannels(const OpCall& call, InputSplit* inputs) {
  for (const int input : {2, 3, 4, 6, 7}) {
    if (input < call.InputCount()) inputs[input] = OneOrEach(call, input);
  }
}

}  // namespace

bool QuantizeSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  if (!IsAxisOf(call.Output(), axis)) return false;
  *granularity = 1;
  inputs[0] = Along(axis);
  // The attribute `axis` is the first word of dequantize and the second of quantize.
  const bool quantizes = call.Input(0).dtype == DType::kF32;
  const int32_t own = quantizes ? call.AttributesAs<QuantizeAttributes>().axis
                                : call.AttributesAs<DequantizeAttributes>().axis;
  for (int i = 1; i < call.InputCount(); ++i) {
    inputs[i] = axis == own ? OneOrEach(call, i) : Whole();
  }
  return true;
}

bool LookupSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  if (!IsAxisOf(call.Output(), axis)) return false;
  *granularity = 1;
  inputs[0] = Along(axis);
  inputs[1] = Whole();
  return true;
}

bool QuantizedConvSplit(const OpCall& call, int32_t axis, InputSplit* inputs,
                        int32_t* granularity) {
  OpCall conv = call;  // inputs 2 and up mean something else here
  conv.input_ids = {call.input_ids.data(), 2};
  for (int i = 2; i < call.InputCount(); ++i) inputs[i] = Whole();
  if (!ConvSplit(conv, axis, inputs, granularity)) return false;
  if (axis == 1) {
    SplitChannels(call, inputs);
    // Zero points of x, where each channel has one, go with the channels that the part reads.
    if (call.HasInput(5) && call.Input(5).dims[0] != 1 && inputs[0].axis == 1) {
      inputs[5] = inputs[0];
      inputs[5].axis = 0;
    }
  }
  return true;
}

bool QuantizedPoolSplit(const OpCall& call, int32_t axis, InputSplit* inputs,
                        int32_t* granularity) {
  if (!PoolSplit(call, axis, inputs, granularity)) return false;
  if (call.InputCount() > 1) inputs[1] = Along(axis);  // sums so far, one for each output
  return true;
}

bool QuantizedMatMulSplit(const OpCall& call, int32_t axis, InputSplit* inputs,
                          int32_t* granularity) {
  OpCall product = call;
  product.input_ids = {call.input_ids.data(), 2};
  for (int i = 2; i < call.InputCount(); ++i) inputs[i] = Whole();
  if (!MatMulSplit(product, axis, inputs, granularity)) return false;
  if (axis == call.Output().rank - 1) SplitChannels(call, inputs);
  return true;
}

}  // namespace tenon::split
