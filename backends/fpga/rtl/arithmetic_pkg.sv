// What the arithmetic blocks and those who use them must agree on. Latencies count clock edges from
// the one that takes an input to the one after which the result can be read, both included.
/* verilator lint_off UNUSEDPARAM */  // no block uses all of them
package arithmetic_pkg;
  // Multiplications that are summed inside a column of DSPs. The sums of eight products of bytes are
  // from -130,048 to 131,072: 261,121 values, for which 18 bits are enough; nine would not do.
  localparam int CASCADE = 8;

  // From the data of row 0 to mac_column's sums.
  function automatic integer column_latency(input integer input_channels);
    column_latency = 4 + (CASCADE - 1) + $clog2(input_channels / CASCADE) + 1;
  endfunction

  // Roundings of a requantised sum, as runtime/ops/requantize.hpp defines them.
  localparam logic [2:0] HALF_EVEN = 3'd0;         // of a float32 product
  localparam logic [2:0] FIXED_POINT = 3'd1;       // halves up, then halves away from zero
  localparam logic [2:0] FIXED_POINT_ONCE = 3'd2;  // halves up
  localparam logic [2:0] HALF_AWAY = 3'd3;         // of the exact product
  localparam logic [2:0] EXACT_HALF_EVEN = 3'd4;   // of the exact product

  // From a sum to its byte in requantise_lanes.
  localparam int REQUANTISE_LATENCY = 15;
  // The lane takes a sum's multiplier and shift so many clocks after the sum.
  localparam int MULTIPLIER_DELAY = 3;
endpackage
/* verilator lint_on UNUSEDPARAM */
