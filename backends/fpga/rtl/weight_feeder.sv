// Reads lines from the ring in the order of the layer's steps: tiles, each into the array's next weights
// as soon as the ones before are in use, then five lines of factors. It runs ahead of the pixels,
// across steps and layers.
module weight_feeder #(
    parameter int TILE_LINES = 16,
    parameter int LINES = 2048,
    parameter int HEAD_START = 6,  // clocks by which pixels reach the array later than lines do
    parameter int TILE_BITS = TILE_LINES > 1 ? $clog2(TILE_LINES) : 1
) (
    input logic clk,
    input logic reset,
    input logic announce,
    output logic ready,
    /* verilator lint_off UNUSEDSIGNAL */  // what others need of a layer
    input layer_pkg::layer_t layer,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic [31:0] arrived,
    output logic [31:0] released,
    output logic [$clog2(LINES)-1:0] line,  // of the ring, this clock
    input logic [1:0] slot_free,            // of factors, by the step's parity

    output logic tile_valid,  // two clocks after `line`
    output logic [TILE_BITS-1:0] tile_line,
    output logic factor_valid,  // two clocks after `line`
    output logic factor_slot,
    output logic [2:0] factor_line,
    output logic [7:0] tiles_loaded,
    input logic [7:0] passes_started  // as the array has seen them
);
  import layer_pkg::*;
  typedef struct packed {
    logic [31:0] group_lines;
    logic [15:0] groups;
    logic [31:0] blocks;
    logic by_block;
    logic reload;
  } job_t;
  job_t jobs[4], job;
  logic [1:0] head, tail;
  logic [2:0] count;
  assign ready = count < 3'd4;

  logic busy, in_factors, slot;
  logic [31:0] at, layer_begin, group_begin, lines_left, block;
  logic [15:0] group;
  logic [2:0] factors_done;
  logic [TILE_BITS:0] tile_left;
  logic counted;

  logic [31:0] there;
  logic issue, last_block, last_group, step_ends, frees;
  assign there = arrived - at;
  assign last_block = block + 32'd1 == job.blocks;
  assign last_group = group + 16'd1 == job.groups;
  assign frees = job.reload || last_block;
  always_comb begin
    issue = 1'b0;
    if (busy && there != 32'd0) begin
      if (in_factors) issue = slot_free[slot] || factors_done != 3'd0;
      else if (tile_left != (TILE_BITS + 1)'(TILE_LINES)) issue = 1'b1;
      else issue = tiles_loaded == passes_started;
    end
    step_ends = issue && lines_left == 32'd1;
  end
  assign line = at[$clog2(LINES)-1:0];

  logic tile_1, factor_1, slot_1;
  logic [TILE_BITS-1:0] tile_line_1;
  logic [2:0] factor_line_1;
  logic counts;
  // A tile counts as loaded when its last lines are sure to reach the array before the pixels do.
  always_comb begin
    counts = 1'b0;
    if (busy && !in_factors && !counted && issue) begin
      if (tile_left == 1) counts = 1'b1;
      else if (32'(tile_left) <= 32'(HEAD_START) && there >= 32'(tile_left)) counts = 1'b1;
    end
  end

  always_ff @(posedge clk) begin
    if (announce && layer.op != TRANSFER) begin
      jobs[tail] <= '{layer.group_lines, layer.out_groups, layer.blocks, layer.by_block, layer.reload};
      tail <= tail + 2'd1;
    end
    count <= count + 3'(announce && layer.op != TRANSFER) - 3'(!busy && count != 3'd0);
    if (!busy && count != 3'd0) begin
      job <= jobs[head];
      head <= head + 2'd1;
      busy <= 1'b1;
      in_factors <= 1'b0;
      tile_left <= (TILE_BITS + 1)'(TILE_LINES);
      counted <= 1'b0;
      lines_left <= jobs[head].group_lines;
      {group, block} <= '0;
      layer_begin <= at;
      group_begin <= at;
    end
    tile_1 <= issue && !in_factors;
    tile_line_1 <= TILE_BITS'(TILE_LINES - 32'(tile_left));
    factor_1 <= issue && in_factors;
    factor_line_1 <= factors_done;
    slot_1 <= slot;
    {tile_valid, tile_line} <= {tile_1, tile_line_1};
    {factor_valid, factor_line, factor_slot} <= {factor_1, factor_line_1, slot_1};
    if (counts) begin
      tiles_loaded <= tiles_loaded + 8'd1;
      counted <= 1'b1;
    end
    if (issue) begin
      at <= at + 32'd1;
      if (frees) released <= at + 32'd1;
      lines_left <= lines_left - 32'd1;
      if (in_factors) begin
        factors_done <= factors_done + 3'd1;
      end else begin
        tile_left <= tile_left - 1'b1;
        if (tile_left == 1) begin
          tile_left <= (TILE_BITS + 1)'(TILE_LINES);
          counted <= 1'b0;
          in_factors <= lines_left == 32'(FACTOR_LINES + 1);
          factors_done <= 3'd0;
        end
      end
    end
    if (step_ends) begin
      slot <= !slot;
      in_factors <= 1'b0;
      lines_left <= job.group_lines;
      if (job.by_block ? last_group : last_block) begin
        if (job.by_block ? last_block : last_group) busy <= 1'b0;
        if (job.by_block) begin
          block <= block + 32'd1;
          group <= '0;
          if (!last_block) at <= layer_begin;
        end else begin
          group <= group + 16'd1;
          block <= '0;
          group_begin <= at + 32'd1;
        end
      end else if (job.by_block) begin
        group <= group + 16'd1;
      end else begin
        block <= block + 32'd1;
        if (!job.reload) at <= group_begin;
      end
    end
    if (reset) begin
      {head, tail} <= '0;
      count <= '0;
      {busy, slot, in_factors, counted} <= '0;
      at <= '0;
      released <= '0;
      tiles_loaded <= '0;
      {tile_1, factor_1, tile_valid, factor_valid} <= '0;
      tile_left <= '0;
    end
  end
endmodule
