// Walks through a block of pixels of a windowed layer in one pass: two rows of outputs at a time, column
// after column of the input. With strides of 1 a clock reads two rows of a column; with strides of 2 a row
// of two columns. What it says of a clock's words tells the window unit where they belong, and whether the
// outputs of a column are complete with them. `pixels` and `kernel_row` are those of a pass from the clock
// behind its restart on, in which it issues nothing.
module window_walk (
    input logic clk,
    /* verilator lint_off UNUSEDSIGNAL */  // what others need of a layer
    input layer_pkg::layer_t layer,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic restart,  // a pass begins
    input logic issue,    // the clock's words are asked for
    input logic [31:0] pixels,  // of the block
    input logic [3:0] kernel_row,  // of the pass: the first of three
    input logic signed [19:0] row,  // of the input, where the window of this row of outputs begins
    input logic signed [19:0] column_offset,
    output logic signed [19:0] rows[2],  // of the words; -1: none is wanted
    output logic signed [19:0] columns[2],
    output logic signed [19:0] rows_on,  // by how many rows of the input the next outputs lie below
    output logic last,  // of the pass
    output layer_pkg::window_clock_t tag
);
  import layer_pkg::*;
  logic [15:0] first_pixel;  // of the upper row
  logic signed [16:0] column;  // of the output; below 0 the window is being filled
  logic [2:0] phase, last_phase, rows_wanted, kernel_rows;
  logic two, has_second, last_rows, outside, last_of_column, last_column;
  logic [15:0] width;
  logic signed [16:0] first_column;
  assign two = layer.stride_width == 4'd2;
  assign width = layer.out_width;
  assign first_column = two ? -17'sd1 : -17'sd2;
  assign last_column = column + 17'sd1 == $signed({1'b0, width});
  assign last_of_column = phase == last_phase;
  assign last = last_rows && last_column && last_of_column;

  logic [3:0] kernel_left;
  assign kernel_left = layer.kernel_height - kernel_row;
  // Of the rows that come next: computed a clock behind a restart, when nothing is issued yet, and
  // beside the last words of the rows before.
  logic restarted;
  logic [31:0] next_pixel;
  assign next_pixel = restarted ? 32'd0 : 32'(first_pixel) + 2 * 32'(width);
  always_ff @(posedge clk) begin
    restarted <= restart;
    if (restarted || (issue && last_of_column && last_column)) begin
      has_second <= next_pixel + 32'(width) < pixels;
      last_rows <= next_pixel + 2 * 32'(width) >= pixels;
    end
    if (restarted) kernel_rows <= kernel_left > 4'd3 ? 3'd3 : kernel_left[2:0];
  end
  assign rows_wanted = kernel_rows + (has_second ? layer.stride_height[2:0] : 3'd0);
  always_comb begin
    columns[0] = 20'(column) + column_offset + 20'sd2;
    if (two) columns[0] = 20'(column) + 20'(column) + column_offset + 20'sd1;
    columns[1] = two ? columns[0] + 20'sd1 : columns[0];
    outside = columns[1] < 0 || columns[0] >= $signed({4'd0, layer.in_width});
    last_phase = two ? rows_wanted - 3'd1 : (rows_wanted - 3'd1) >> 1;
    if (has_second && last_phase == 3'd0) last_phase = 3'd1;
    if (column < 0 && outside) last_phase = 3'd0;
    // The second output of the rows above goes to the array before the window moves on.
    if (column == first_column && first_pixel != 16'd0 && last_phase == 3'd0) last_phase = 3'd1;
    rows[0] = row + (two ? 20'(phase) : {16'd0, phase, 1'b0});
    rows[1] = two ? rows[0] : rows[0] + 20'sd1;
    if (two ? phase >= rows_wanted : {phase, 1'b0} >= {1'b0, rows_wanted}) rows[0] = -20'sd1;
    if (two ? phase >= rows_wanted : {phase, 1'b1} >= {1'b0, rows_wanted}) rows[1] = -20'sd1;
    rows_on = '0;
    if (last_column && last_of_column)
      rows_on = 20'(layer.stride_height) << (has_second ? 1'b1 : 1'b0);
  end

  always_comb begin
    tag.valid = 1'b1;  // if issued
    tag.phase = phase;
    tag.is_padding = outside;
    tag.column_ends = last_of_column;
    tag.emits = last_of_column && column >= 0;
    tag.has_second = has_second;
    tag.pixel = 16'(first_pixel + 16'(column));
    tag.is_first = tag.emits && column == 0 && first_pixel == 16'd0;
    tag.is_last = last;
  end

  always_ff @(posedge clk) begin
    if (issue) begin
      phase <= last_of_column ? 3'd0 : phase + 3'd1;
      if (last_of_column) column <= last_column ? first_column : column + 17'sd1;
      if (last_of_column && last_column) first_pixel <= first_pixel + {width[14:0], 1'b0};
    end
    if (restart) begin
      phase <= '0;
      column <= first_column;
      first_pixel <= '0;
    end
  end
endmodule
