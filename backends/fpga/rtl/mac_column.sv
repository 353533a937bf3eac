// One output channel of the array: the products of INPUT_CHANNELS bytes of two pixels with the
// channel's weights, summed; a result per clock. All inputs are skewed: row r of each cascade of 8
// gets everything r clocks after row 0 (cascade_skew). The sums can be read
// arithmetic_pkg::column_latency clocks after the data of row 0.
//
// Weights: `load_weights` takes `weights` as the next ones, and the next become the present ones
// from the data with which `swap_weights` comes. The last load may come with that data; the first
// load of the weights after these must come later.
//
// Depthwise: rows 0 to DEPTHWISE_ROWS - 1 take this channel's own taps beside a first pixel that must then be
// 0 (and the second sum means nothing). Otherwise the taps must be 0.
module mac_column #(
    parameter int INPUT_CHANNELS = 32,  // a multiple of 8
    parameter int PIXELS = 2,           // 1: the second pixel's sum is 0
    parameter int DEPTHWISE_ROWS = 9,
    parameter int TAPS = DEPTHWISE_ROWS > 0 ? DEPTHWISE_ROWS : 1,
    parameter int SUM_BITS = 16 + $clog2(INPUT_CHANNELS)  // 21 for 32 channels
) (
    input logic clk,
    input logic [INPUT_CHANNELS*8-1:0] first,
    input logic [INPUT_CHANNELS*8-1:0] second,
    /* verilator lint_off UNUSEDSIGNAL */  // no row of 8 for the last of 9 taps
    input logic [TAPS*8-1:0] taps,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic [INPUT_CHANNELS*8-1:0] weights,
    input logic [arithmetic_pkg::CASCADE-1:0] load_weights,
    input logic [arithmetic_pkg::CASCADE-1:0] swap_weights,
    output logic signed [SUM_BITS-1:0] first_sum,
    output logic signed [SUM_BITS-1:0] second_sum
);
  localparam int CASCADE = arithmetic_pkg::CASCADE;
  localparam int CASCADES = INPUT_CHANNELS / CASCADE;  // a power of two
  localparam int WIDTH = 19 + $clog2(CASCADES);
  localparam logic [47:0] LEAST = 48'd130048;  // what is added to make first products' sums positive

  // Weights change a register later than data come in: data pass the pre-adder's register first.
  logic [CASCADE-1:0] swap_next;
  always_ff @(posedge clk) swap_next <= swap_weights;

  // Node 1 is the root of the tree, node i the sum of nodes 2 i and 2 i + 1, and the nodes from
  // CASCADES on are the cascades. The sums of first pixels are positive.
  logic [CASCADES*WIDTH-1:0] first_leaves, second_leaves;
  /* verilator lint_off UNUSEDSIGNAL */  // node 0
  logic [CASCADES*WIDTH-1:0] first_nodes, second_nodes;
  /* verilator lint_on UNUSEDSIGNAL */

  for (genvar c = 0; c < CASCADES; c++) begin : g_cascade
    /* verilator lint_off UNUSEDSIGNAL */  // the sums of rows other than the last
    logic [(CASCADE+1)*48-1:0] chain;
    logic [CASCADE*48-1:0] sums;
    /* verilator lint_on UNUSEDSIGNAL */
    assign chain[47:0] = 48'd0;
    for (genvar r = 0; r < CASCADE; r++) begin : g_row
      localparam int CHANNEL = c * CASCADE + r;
      logic [7:0] tap;
      if (CHANNEL < DEPTHWISE_ROWS) begin : g_tap
        assign tap = taps[CHANNEL*8+:8];
      end else begin : g_no_tap
        assign tap = 8'd0;
      end
      mac_cell #(.HEAD(r == 0), .CONSTANT(LEAST)) multiplier (
          .clk(clk), .first(first[CHANNEL*8+:8]), .second(PIXELS == 1 ? 8'd0 : second[CHANNEL*8+:8]),
          .tap(tap),
          .weight(weights[CHANNEL*8+:8]), .load_weight(load_weights[r]),
          .swap_weight(swap_next[r]), .cascade_in(chain[r*48+:48]),
          .cascade_out(chain[(r+1)*48+:48]), .sum(sums[r*48+:48])
      );
    end
    assign first_leaves[c*WIDTH+:WIDTH] = WIDTH'(sums[(CASCADE-1)*48+:18]);
    assign second_leaves[c*WIDTH+:WIDTH] = WIDTH'($signed(sums[(CASCADE-1)*48+18+:19]));
  end

  assign first_nodes[WIDTH-1:0] = first_leaves[WIDTH-1:0];  // stands for the root of one cascade
  assign second_nodes[WIDTH-1:0] = second_leaves[WIDTH-1:0];
  for (genvar i = 1; i < CASCADES; i++) begin : g_node
    logic [WIDTH-1:0] first_left, first_right, second_left, second_right;
    if (2 * i >= CASCADES) begin : g_of_leaves
      assign first_left = first_leaves[(2*i-CASCADES)*WIDTH+:WIDTH];
      assign first_right = first_leaves[(2*i+1-CASCADES)*WIDTH+:WIDTH];
      assign second_left = second_leaves[(2*i-CASCADES)*WIDTH+:WIDTH];
      assign second_right = second_leaves[(2*i+1-CASCADES)*WIDTH+:WIDTH];
    end else begin : g_of_nodes
      assign first_left = first_nodes[2*i*WIDTH+:WIDTH];
      assign first_right = first_nodes[(2*i+1)*WIDTH+:WIDTH];
      assign second_left = second_nodes[2*i*WIDTH+:WIDTH];
      assign second_right = second_nodes[(2*i+1)*WIDTH+:WIDTH];
    end
    logic [WIDTH-1:0] first_node, second_node;
    always_ff @(posedge clk) begin
      first_node <= first_left + first_right;
      second_node <= second_left + second_right;
    end
    assign first_nodes[i*WIDTH+:WIDTH] = first_node;
    assign second_nodes[i*WIDTH+:WIDTH] = second_node;
  end
  localparam int ROOT = CASCADES > 1 ? WIDTH : 0;

  // The constant ends in ten zeros: only the bits above them change.
  localparam logic [WIDTH-1:10] ADDED = (WIDTH - 10)'(CASCADES * 127);
  always_ff @(posedge clk) begin
    first_sum[SUM_BITS-1:10] <= first_nodes[ROOT+10+:WIDTH-10] - ADDED;
    first_sum[9:0] <= first_nodes[ROOT+:10];
    second_sum <= second_nodes[ROOT+:WIDTH];
  end
endmodule
