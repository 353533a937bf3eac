// Computes a convolution as its definition says, one output element per work-item, with any strides
// and weights that need not be constant. FUNCTION is the number of the activation.

DEFINE_FUNCTION(DTYPE, activate, FUNCTION)

// As in conv_reference.cpp. Strides count elements.
typedef struct {
  int images, outputs, output_rows, output_columns;
  int input_rows, input_columns;
  int channels, outputs_per_group;  // per group
  int taps_y, taps_x;
  int stride_y, stride_x;
  int dilation_y, dilation_x;
  int pad_top, pad_left;
  int x[4], w[4], y[4], residual[4], bias;
  int has_bias, has_residual;
  DTYPE a, b;  // of the activation
} ReferenceParameters;

// Work-items: output channels, pixels of the image, images.
__kernel void conv_reference(__global const DTYPE* x, const ulong x_offset,
                             __global const DTYPE* w, const ulong w_offset,
                             __global const DTYPE* bias, const ulong bias_offset,
                             __global const DTYPE* residual, const ulong residual_offset,
                             __global DTYPE* y, const ulong y_offset,
                             const ReferenceParameters p) {
  const int output = get_global_id(0);
  const int pixel = get_global_id(1);
  const int image = get_global_id(2);
  if (output >= p.outputs || pixel >= p.output_rows * p.output_columns) return;
  const int row = pixel / p.output_columns;
  const int column = pixel - row * p.output_columns;
  const int group = output / p.outputs_per_group;
  x += x_offset + image * p.x[0] + group * p.channels * p.x[1];
  w += w_offset + output * p.w[0];
  DTYPE sum = p.has_bias ? bias[bias_offset + output * p.bias] : (DTYPE)0;
  for (int tap_y = 0; tap_y < p.taps_y; ++tap_y) {
    const int in_row = row * p.stride_y - p.pad_top + tap_y * p.dilation_y;
    if ((uint)in_row >= (uint)p.input_rows) continue;
    for (int tap_x = 0; tap_x < p.taps_x; ++tap_x) {
      const int in_column = column * p.stride_x - p.pad_left + tap_x * p.dilation_x;
      if ((uint)in_column >= (uint)p.input_columns) continue;
      for (int k = 0; k < p.channels; ++k) {
        sum = fma(x[k * p.x[1] + in_row * p.x[2] + in_column * p.x[3]],
                  w[k * p.w[1] + tap_y * p.w[2] + tap_x * p.w[3]], sum);
      }
    }
  }
  if (p.has_residual) {
    sum += residual[residual_offset + image * p.residual[0] + output * p.residual[1] +
                    row * p.residual[2] + column * p.residual[3]];
  }
  y[y_offset + image * p.y[0] + output * p.y[1] + row * p.y[2] + column * p.y[3]] =
      activate(sum, p.a, p.b);
}
