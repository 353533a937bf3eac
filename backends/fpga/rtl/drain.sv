// Makes bytes of finished blocks of sums: requantises them, looks them up in a table, adds another
// map's, each as the layer asks, and writes them as words of the output map.
module drain #(
    parameter int GROUP = 32,
    parameter int ENTRIES = 256,
    parameter int BITS = 16,
    parameter int ENTRY_BITS = $clog2(ENTRIES)
) (
    input logic clk,
    input logic reset,
    /* verilator lint_off UNUSEDSIGNAL */  // what others need of a layer
    input layer_pkg::layer_t layer,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic tables_ready,

    input logic step_announce,
    input logic step_slot,
    input logic [15:0] step_group,
    input logic [31:0] step_pixel,
    input logic [31:0] step_pixels,
    input logic step_last_group,
    input logic [1:0] complete,
    output logic [1:0] slot_free,

    input logic factor_valid,
    input logic factor_slot,
    input logic [2:0] factor_line,
    /* verilator lint_off UNUSEDSIGNAL */  // a small group's factors do not fill a line
    input logic [511:0] line,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic [1:0] factor_free,

    output logic drain_slot,
    output logic [ENTRY_BITS-1:0] drain_entry,
    input logic [2*GROUP*32-1:0] drained,

    output logic residual_request,
    output logic [BITS-1:0] residual_address,
    input logic residual_ready,
    input logic [GROUP*8-1:0] residual_data,  // three clocks after it was ready

    input logic table_write,  // four bytes of a table for all lanes
    input logic [9:0] table_word,
    input logic [31:0] table_data,

    output logic write,
    output logic [BITS-1:0] write_address,
    output logic [GROUP*8-1:0] write_data,
    input logic write_ready,
    output logic [31:0] done_pixels,  // of which all groups are written
    output logic [15:0] group_now,    // of outputs: the last that was written to
    output logic [31:0] group_pixels,  // its pixels that are written
    input logic new_layer,
    output logic idle,
    output logic wrote
);
  import layer_pkg::*;
  localparam int WORD = GROUP * 8;
  localparam int FIFO = 64;

  // --- steps -----------------------------------------------------------------------------------
  logic [1:0] open, full;  // announced; complete
  logic [31:0] base[2], first_pixel[2], pixels[2];
  logic [1:0] is_last_group;
  logic [15:0] groups[2];
  logic [31:0] group_base;
  logic slot, running, half;
  logic [31:0] pixel;
  logic [ENTRY_BITS-1:0] entry;
  // Where a step's words go: the group's base is added up, since groups come in order.
  logic [15:0] base_group;
  logic [31:0] announced_base;
  always_comb begin
    if (step_group == 16'd0) announced_base = 32'd0;
    else if (step_group == base_group) announced_base = group_base;
    else announced_base = group_base + layer.out_pixels;
  end
  assign slot_free = ~open;
  logic last_pixel;
  assign last_pixel = pixel + 32'd1 == pixels[slot];

  // Factors of a step are free with its sums, but they may come before the step is announced.
  logic [1:0] factors_held, factors_full;
  assign factor_free = ~factors_held;

  // --- pixels, one in a clock, or in two with a residual -----------------------------------------
  logic [6:0] credits;
  logic phase, issue, may_issue;
  logic [5:0] residual_count;
  assign may_issue = running && credits != 7'd0 && tables_ready;
  assign issue = may_issue && (!layer.has_residual || (!phase && residual_count != 6'd0));
  assign drain_slot = slot;
  assign drain_entry = entry;

  typedef struct packed {
    logic valid;
    logic half;
    logic slot;
    logic [BITS-1:0] address;
    logic closes;  // its pixel is complete
    logic [15:0] group;
    logic [31:0] pixel;
  } meta_t;
  localparam int LANES_LATENCY = arithmetic_pkg::REQUANTISE_LATENCY;
  localparam int TO_LANES = 2;
  localparam int TO_TABLE = TO_LANES + LANES_LATENCY;  // bytes come out of the lanes
  localparam int TO_LOOKUP = TO_TABLE + 1;             // out of the table
  localparam int TO_SECOND = TO_LOOKUP + 1;            // the residual's operands
  localparam int TO_END = TO_SECOND + LANES_LATENCY;
  meta_t meta[TO_END+1];
  /* verilator lint_off UNUSEDSIGNAL */  // the chip has fewer words
  logic [31:0] out_address;
  /* verilator lint_on UNUSEDSIGNAL */
  always_comb begin
    out_address = layer.out_base + base[slot] + first_pixel[slot] + pixel;
    meta[0].valid = issue;
    meta[0].half = half;
    meta[0].slot = slot;
    meta[0].address = out_address[BITS-1:0];
    meta[0].closes = is_last_group[slot];
    meta[0].group = groups[slot];
    meta[0].pixel = first_pixel[slot] + pixel + 32'd1;
  end

  logic [TO_LANES+3:0] last_line;
  logic [TO_LANES+2:0] last_before;
  always_ff @(posedge clk) last_before <= {last_before[TO_LANES+1:0], issue && last_pixel};
  assign last_line = {last_before, issue && last_pixel};

  // --- factors ---------------------------------------------------------------------------------
  logic [GROUP*32-1:0] biases[2], multipliers[2];
  logic [GROUP*8-1:0] shifts[2];
  // A group of 8 has its biases, and its multipliers, in one line.
  localparam int LINE_PART = GROUP * 32 > 512 ? 512 : GROUP * 32;
  localparam int PARTS = GROUP * 32 / LINE_PART;
  always_ff @(posedge clk) begin
    if (factor_valid) begin
      for (int i = 0; i < PARTS; i++) begin
        if (factor_line == 3'(i)) biases[factor_slot][i*LINE_PART+:LINE_PART] <= line[LINE_PART-1:0];
        if (factor_line == 3'(2 + i))
          multipliers[factor_slot][i*LINE_PART+:LINE_PART] <= line[LINE_PART-1:0];
      end
      if (factor_line == 3'd4) shifts[factor_slot] <= line[GROUP*8-1:0];
    end
  end

  // --- lanes -----------------------------------------------------------------------------------
  logic lanes_valid, second;
  logic [GROUP*32-1:0] sums, addends, x_words, y_words;
  logic [GROUP*31-1:0] lane_multipliers;
  logic [GROUP*6-1:0] lane_shifts;
  logic [WORD-1:0] bytes, table_bytes, looked_up;
  /* verilator lint_off UNUSEDSIGNAL */
  logic bytes_valid;
  /* verilator lint_on UNUSEDSIGNAL */
  assign second = layer.has_residual && meta[TO_SECOND].valid;
  assign lanes_valid = meta[TO_LANES].valid || second;
  always_comb begin
    sums = meta[TO_LANES].half ? drained[2*GROUP*32-1:GROUP*32] : drained[GROUP*32-1:0];
    addends = biases[meta[TO_LANES].slot];
    if (second) begin
      sums = x_words;
      addends = y_words;
    end
  end
  // Multipliers come three clocks later, of what is in the lanes then.
  logic second_3;
  logic [2:0] second_line;
  assign second_3 = second_line[2];
  always_comb begin
    for (int i = 0; i < GROUP; i++) begin
      lane_multipliers[i*31+:31] = second_3 ? layer.residual_multiplier[30:0]
                                            : multipliers[meta[TO_LANES+3].slot][i*32+:31];
      lane_shifts[i*6+:6] = second_3 ? layer.residual_shift[5:0]
                                     : shifts[meta[TO_LANES+3].slot][i*8+:6];
    end
  end
  requantise_lanes #(.LANES(GROUP)) lanes (
      .clk(clk), .valid(lanes_valid), .mode(second ? layer.residual_rounding : layer.rounding),
      .zero_point(second ? layer.residual_zero_point : layer.zero_point),
      .least(second ? layer.residual_least : layer.least),
      .most(second ? layer.residual_most : layer.most), .sums(sums), .addends(addends),
      .multipliers(lane_multipliers), .shifts(lane_shifts), .valid_out(bytes_valid), .results(bytes)
  );

  // --- tables ----------------------------------------------------------------------------------
  logic [WORD-1:0] residual_word;
  for (genvar i = 0; i < GROUP; i++) begin : g_table
    logic [31:0] bytes_table[64];
    // A residual's pixels are two clocks apart: y is read in the first, from the upper half, x in the second.
    (* ram_style = "block" *) logic [31:0] operands[512];
    logic [7:0] index, operand;
    logic [31:0] found;
    assign index = bytes[i*8+:8] ^ 8'h80;
    assign found = bytes_table[index[7:2]];
    assign operand = (meta[TO_LOOKUP].valid ? table_bytes[i*8+:8] : residual_word[i*8+:8]) ^ 8'h80;
    always_ff @(posedge clk) begin
      table_bytes[i*8+:8] <= layer.has_table ? found[index[1:0]*8+:8] : bytes[i*8+:8];
      x_words[i*32+:32] <= operands[{!meta[TO_LOOKUP].valid, operand}];
      y_words[i*32+:32] <= x_words[i*32+:32];
      if (table_write && table_word < 10'd64) bytes_table[table_word[5:0]] <= table_data;
      if (table_write && table_word >= 10'd64) operands[9'(table_word - 10'd64)] <= table_data;
    end
  end
  assign looked_up = table_bytes;

  // --- the residual's words, read ahead ------------------------------------------------------------
  logic [WORD-1:0] residual_fifo[32];
  logic [4:0] residual_head, residual_tail;
  logic [5:0] residual_asked;  // on their way or there, and not taken
  logic reading;
  logic [31:0] residual_left, residual_at;
  logic [2:0] residual_line;
  assign residual_request = reading && residual_asked < 6'd32;
  assign residual_address = residual_at[BITS-1:0];
  assign residual_word = residual_fifo[residual_head];
  logic residual_taken;
  assign residual_taken = layer.has_residual && meta[TO_LOOKUP].valid;
  logic begin_step;
  assign begin_step = !running && full[slot] && open[slot] && factors_full[slot];

  // --- words to write --------------------------------------------------------------------------
  /* verilator lint_off UNUSEDSIGNAL */  // the slot is free again
  meta_t end_meta;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [WORD-1:0] end_word;
  assign end_meta = layer.has_residual ? meta[TO_END] : meta[TO_LOOKUP];
  assign end_word = layer.has_residual ? bytes : looked_up;
  typedef struct packed {
    logic closes;
    logic [15:0] group;
    logic [31:0] pixel;
    logic [BITS-1:0] address;
    logic [WORD-1:0] word;
  } out_t;
  out_t fifo[FIFO], first_out;
  logic [5:0] fifo_head, fifo_tail;
  logic [6:0] fifo_count;
  logic pop;
  assign first_out = fifo[fifo_head];
  assign write = fifo_count != 7'd0;
  assign write_address = first_out.address;
  assign write_data = first_out.word;
  assign pop = write && write_ready;
  assign wrote = pop;
  assign idle = open == 2'd0 && credits == 7'(FIFO);

  always_ff @(posedge clk) begin
    for (int i = 1; i <= TO_END; i++) meta[i] <= meta[i-1];
    // Without a residual pixels end here: the next layer may have one before they would have passed.
    if (!layer.has_residual) meta[TO_SECOND].valid <= 1'b0;
    second_line <= {second_line[1:0], second};
    phase <= !phase;
    if (step_announce) begin
      open[step_slot] <= 1'b1;
      base[step_slot] <= announced_base;
      group_base <= announced_base;
      base_group <= step_group;
      first_pixel[step_slot] <= step_pixel;
      pixels[step_slot] <= step_pixels;
      is_last_group[step_slot] <= step_last_group;
      groups[step_slot] <= step_group;
    end
    for (int s = 0; s < 2; s++) if (complete[s]) full[s] <= 1'b1;
    if (factor_valid && factor_line == 3'd0) factors_held[factor_slot] <= 1'b1;
    if (factor_valid && factor_line == 3'(FACTOR_LINES - 1)) factors_full[factor_slot] <= 1'b1;
    if (begin_step) begin
      running <= 1'b1;
      pixel <= '0;
      entry <= '0;
      half <= 1'b0;
      reading <= layer.has_residual;
      residual_left <= pixels[slot];
      residual_at <= layer.residual + base[slot] + first_pixel[slot];
    end
    if (issue) begin
      pixel <= pixel + 32'd1;
      half <= !half;
      if (half) entry <= entry + 1'b1;
      if (last_pixel) begin
        running <= 1'b0;
        slot <= !slot;
        full[slot] <= 1'b0;
      end
    end
    // A step's sums and factors are used until its last pixel has passed the lanes.
    if (meta[TO_LANES+3].valid && last_line[TO_LANES+3]) begin
      open[meta[TO_LANES+3].slot] <= 1'b0;
      factors_held[meta[TO_LANES+3].slot] <= 1'b0;
      factors_full[meta[TO_LANES+3].slot] <= 1'b0;
    end
    if (residual_request && residual_ready) begin
      residual_at <= residual_at + 32'd1;
      residual_left <= residual_left - 32'd1;
      if (residual_left == 32'd1) reading <= 1'b0;
    end
    residual_line <= {residual_line[1:0], residual_request && residual_ready};
    if (residual_line[2]) begin
      residual_fifo[residual_tail] <= residual_data;
      residual_tail <= residual_tail + 5'd1;
    end
    residual_count <= residual_count + 6'(residual_line[2]) - 6'(issue && layer.has_residual);
    residual_asked <= residual_asked + 6'(residual_request && residual_ready) - 6'(residual_taken);
    if (residual_taken) residual_head <= residual_head + 5'd1;
    credits <= credits - 7'(issue) + 7'(pop);
    fifo_count <= fifo_count + 7'(end_meta.valid) - 7'(pop);
    if (end_meta.valid) begin
      fifo[fifo_tail] <= '{end_meta.closes, end_meta.group, end_meta.pixel, end_meta.address, end_word};
      fifo_tail <= fifo_tail + 6'd1;
    end
    if (pop) begin
      fifo_head <= fifo_head + 6'd1;
      if (first_out.closes) done_pixels <= first_out.pixel;
      group_now <= first_out.group;
      group_pixels <= first_out.pixel;
    end
    if (new_layer) begin
      done_pixels <= '0;
      group_now <= '0;
      group_pixels <= '0;
      base_group <= '0;
      group_base <= '0;
    end
    if (reset) begin
      for (int i = 1; i <= TO_END; i++) meta[i].valid <= 1'b0;
      {open, full, running, slot, factors_held, factors_full, reading} <= '0;
      residual_line <= '0;
      {residual_head, residual_tail} <= '0;
      {residual_count, residual_asked} <= '0;
      credits <= 7'(FIFO);
      {fifo_count, fifo_head, fifo_tail} <= '0;
      phase <= 1'b0;
    end
  end
endmodule
