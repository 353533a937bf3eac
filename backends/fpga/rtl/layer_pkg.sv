// A layer as its descriptor says (backends/fpga/isa/descriptor.hpp), and what engines tell each other
// of it.
package layer_pkg;
  localparam logic [7:0] FORMAT_VERSION = 8'd2;
  localparam logic [31:0] CHECKSUM = 32'h7E404E43;
  localparam int FACTOR_LINES = 5;

  localparam logic [3:0] TRANSFER = 4'd0;
  localparam logic [3:0] CONV = 4'd1;
  /* verilator lint_off UNUSEDPARAM */  // what is none of the others
  localparam logic [3:0] DEPTHWISE = 4'd2;
  /* verilator lint_on UNUSEDPARAM */
  localparam logic [3:0] MAX_POOL = 4'd3;

  localparam logic [31:0] DESCRIPTOR_ERROR = 32'd1;
  localparam logic [31:0] AXI_ERROR = 32'd2;
  localparam logic [31:0] WATCHDOG_ERROR = 32'd3;

  // The words in their order: the last field is word 0.
  typedef struct packed {
    logic [31:0] checksum;
    logic [63:0] unused;
    logic [31:0] last_block_pixels;
    logic [31:0] load_row_bytes;
    logic [31:0] all_lines;
    logic [31:0] kept_lines;
    logic [31:0] out_pixels;
    logic [31:0] in_pixels;
    logic [15:0] store_pitch;
    logic [15:0] store_channels;
    logic [31:0] store_offset;
    logic [15:0] load_pitch;
    logic [15:0] load_channels;
    logic [31:0] load_offset;
    logic [31:0] tables_offset;
    logic [31:0] group_lines;
    logic [31:0] plane_bytes;
    logic [31:0] weights_offset;
    logic [15:0] no_bases;
    logic [3:0] tables_base;
    logic [3:0] store_base;
    logic [3:0] load_base;
    logic [3:0] weights_base;
    logic [7:0] residual_most;
    logic [7:0] residual_least;
    logic [7:0] residual_zero_point;
    logic [7:0] residual_shift;
    logic [31:0] residual_multiplier;
    logic [7:0] no_bound;
    logic [7:0] most;
    logic [7:0] least;
    logic [7:0] zero_point;
    logic [31:0] block_pixels;
    logic [31:0] blocks;
    logic [7:0] no_padding;
    logic [7:0] padding;
    logic [7:0] pad_left;
    logic [7:0] pad_top;
    logic [7:0] no_window;
    logic [3:0] dilation_width;
    logic [3:0] dilation_height;
    logic [3:0] stride_width;
    logic [3:0] stride_height;
    logic [3:0] kernel_width;
    logic [3:0] kernel_height;
    logic [15:0] out_groups;
    logic [15:0] in_groups;
    logic [15:0] out_width;
    logic [15:0] out_height;
    logic [15:0] in_width;
    logic [15:0] in_height;
    logic [31:0] residual;
    logic [31:0] out_base;
    logic [31:0] in_base;
    logic [7:0] version;
    logic no_flag;
    logic [2:0] residual_rounding;
    logic no_mode;
    logic [2:0] rounding;
    logic no_flags;
    logic windowed;
    logic store_flip;
    logic store_used;
    logic load_flip;
    logic load_used;
    logic has_residual;
    logic has_table;
    logic reload;
    logic by_block;
    logic folded;
    logic last;
    logic [3:0] op;
  } layer_t;

  // What a clock of a windowed layer's walk means (window_walk, window_unit).
  typedef struct packed {
    logic valid;
    logic [2:0] phase;  // of the column: which of its words
    logic is_padding;   // the column lies outside of the map
    logic column_ends;
    logic emits;  // outputs are complete with the column
    logic has_second;  // and so are those of the row below
    logic [15:0] pixel;  // of the block: the upper output
    logic is_first;  // output of the pass
    logic is_last;
  } window_clock_t;

  /* verilator lint_off UNUSEDSIGNAL */  // of a layer some fields are wanted
  // `sum`: of all words.
  function automatic logic is_legal(input layer_t layer, input logic [31:0] sum);
    is_legal = sum == CHECKSUM && layer.version == FORMAT_VERSION && layer.op <= MAX_POOL &&
               layer.rounding <= 3'd4 && layer.residual_rounding <= 3'd4 && layer.blocks != 32'd0;
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */
endpackage
