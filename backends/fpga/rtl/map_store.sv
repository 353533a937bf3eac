// Stores a map to memory as it is done. Pixel by pixel, the bytes of a pixel's groups are joined to a
// stream and written in bursts. Where groups of outputs come one after the other, and lie in memory at
// multiples of their size, it goes group by group instead, with a burst for each pixel, which so never
// crosses 4 KiB: else all would have to wait for the last group.
module map_store #(
    parameter int GROUP = 32,
    parameter int BITS = 16
) (
    input logic clk,
    input logic reset,
    input logic stop,
    input logic start,
    input logic [63:0] base,
    /* verilator lint_off UNUSEDSIGNAL */  // what others need of a layer
    input layer_pkg::layer_t layer,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic [31:0] done_pixels,
    input logic [15:0] group_now,
    input logic [31:0] group_pixels,
    output logic read,
    output logic [BITS-1:0] read_address,
    input logic read_ready,
    input logic [GROUP*8-1:0] read_data,  // three clocks after it was ready
    output logic busy,
    output logic error,
    output logic moved,
    output logic idle,  // no write is under way

    output logic [63:0] awaddr,
    output logic [7:0] awlen,
    output logic awvalid,
    input logic awready,
    output logic [127:0] wdata,
    output logic [15:0] wstrb,
    output logic wlast,
    output logic wvalid,
    input logic wready,
    input logic [1:0] bresp,
    input logic bvalid,
    output logic bready
);
  localparam int WORD = GROUP * 8;
  localparam int WORDS = 16;
  localparam int BUFFER = 16 + GROUP;
  localparam int COUNT = $clog2(BUFFER + 1);
  localparam int BEATS = 64;

  // --- words of the map --------------------------------------------------------------------------
  logic reading;
  logic [31:0] pixel, word_at;
  logic [15:0] channel;
  logic last_of_pixel, asks;
  logic [2:0] line;
  logic [4:0] asked;  // words on their way or there
  logic by_group;
  logic [15:0] group;
  logic is_done;
  assign last_of_pixel = channel + 16'(GROUP) >= layer.store_channels;
  always_comb begin
    is_done = pixel < done_pixels;
    if (by_group) is_done = group < group_now || (group == group_now && pixel < group_pixels);
  end
  assign read = reading && is_done && asked < 5'(WORDS);
  assign read_address = word_at[BITS-1:0];
  assign asks = read && read_ready;

  logic [WORD-1:0] words[WORDS];
  logic [3:0] words_head, words_tail;
  logic [4:0] words_count;
  logic take_word;

  // --- bytes -------------------------------------------------------------------------------------
  logic [BUFFER*8-1:0] bytes, shifted;
  logic [COUNT-1:0] held, left;
  logic [15:0] join_channel, join_left;
  logic [31:0] pixels_left;
  logic [15:0] join_group;
  logic active, joining, flush, put;
  logic [COUNT-1:0] added;
  logic [WORD-1:0] word_bytes;
  logic beats_full, beat_is_last;
  assign join_left = layer.store_channels - join_channel;
  assign added = join_left < 16'(GROUP) ? COUNT'(join_left) : COUNT'(GROUP);
  always_comb begin
    word_bytes = layer.store_flip ? words[words_head] ^ {GROUP{8'h80}} : words[words_head];
    for (int i = 0; i < GROUP; i++) if (!(COUNT'(i) < added)) word_bytes[i*8+:8] = 8'd0;
    flush = !joining && active;
    put = active && !beats_full && (held >= COUNT'(16) || (flush && held != '0));
    left = held;
    shifted = bytes;
    if (put) begin
      left = held >= COUNT'(16) ? held - COUNT'(16) : '0;
      shifted = bytes >> 128;
    end
    take_word = joining && words_count != 5'd0 && left <= COUNT'(16);
    beat_is_last = flush && held <= COUNT'(16);
  end

  // --- beats and bursts ----------------------------------------------------------------------------
  logic is_first;
  logic [127:0] beats[BEATS];
  logic [15:0] strobes[BEATS];
  logic [5:0] beats_head, beats_tail;
  logic [6:0] beats_count;
  logic all_put;
  logic [63:0] at;
  logic bursting;
  logic [4:0] burst_left, wanted;
  logic [6:0] answers;
  logic sent, starts_burst;
  assign beats_full = beats_count >= 7'(BEATS - 1);
  assign wanted = by_group ? 5'(GROUP / 16) : 5'd16 - {1'b0, at[7:4]};
  logic [31:0] at_pixel;
  logic [63:0] at_group;
  assign starts_burst = !bursting && !awvalid && !stop && beats_count != 7'd0 &&
                        answers < 7'd32 && (beats_count >= {2'd0, wanted} || all_put);
  assign wvalid = bursting;
  assign wdata = beats[beats_head];
  assign wstrb = strobes[beats_head];
  assign wlast = burst_left == 5'd1;
  assign sent = wvalid && wready;
  assign bready = 1'b1;
  assign busy = active;
  assign moved = sent;
  assign idle = !awvalid && !bursting && answers == 7'd0;

  logic starts_by_group;
  assign starts_by_group = layer.op != layer_pkg::TRANSFER && !layer.by_block &&
                           layer.store_channels[4:0] == 5'd0 && GROUP >= 16 &&
                           base[$clog2(GROUP)-1:0] == '0 && layer.out_groups != 16'd1;

  always_ff @(posedge clk) begin
    line <= {line[1:0], asks};
    if (asks) begin
      channel <= channel + 16'(GROUP);
      word_at <= word_at + layer.out_pixels;
      if (last_of_pixel) begin
        channel <= '0;
        pixel <= pixel + 32'd1;
        word_at <= layer.out_base + pixel + 32'd1;
        if (pixel + 32'd1 == layer.out_pixels) reading <= 1'b0;
      end
      if (by_group) begin
        channel <= '0;
        pixel <= pixel + 32'd1;
        word_at <= word_at + 32'd1;
        reading <= 1'b1;
        if (pixel + 32'd1 == layer.out_pixels) begin
          pixel <= '0;
          group <= group + 16'd1;
          reading <= group + 16'd1 != layer.out_groups;
        end
      end
    end
    asked <= asked + 5'(asks) - 5'(take_word);
    if (line[2]) begin
      words[words_tail] <= read_data;
      words_tail <= words_tail + 4'd1;
    end
    words_count <= words_count + 5'(line[2]) - 5'(take_word);
    bytes <= take_word ? shifted | ((BUFFER * 8)'(word_bytes) << {left, 3'd0}) : shifted;
    held <= left + (take_word ? added : COUNT'(0));
    if (take_word) begin
      words_head <= words_head + 4'd1;
      join_channel <= join_channel + 16'(GROUP);
      if (by_group || join_left <= 16'(GROUP)) begin
        join_channel <= '0;
        pixels_left <= pixels_left - 32'd1;
        if (pixels_left == 32'd1) begin
          pixels_left <= layer.out_pixels;
          join_group <= join_group + 16'd1;
          joining <= by_group && join_group + 16'd1 != layer.out_groups;
        end
      end
    end
    if (put) begin
      beats[beats_tail] <= bytes[127:0];
      for (int i = 0; i < 16; i++)
        strobes[beats_tail][i] <= (!is_first || 4'(i) >= base[3:0]) && COUNT'(i) < held;
      beats_tail <= beats_tail + 6'd1;
      is_first <= 1'b0;
      if (beat_is_last) all_put <= 1'b1;
    end
    beats_count <= beats_count + 7'(put) - 7'(sent);
    if (awready) awvalid <= 1'b0;
    if (starts_burst) begin
      awvalid <= 1'b1;
      awaddr <= at;
      bursting <= 1'b1;
      burst_left <= beats_count < {2'd0, wanted} ? beats_count[4:0] : wanted;
      awlen <= {3'd0, (beats_count < {2'd0, wanted} ? beats_count[4:0] : wanted) - 5'd1};
      at <= at + {55'd0, beats_count < {2'd0, wanted} ? beats_count[4:0] : wanted, 4'd0};
      if (by_group) begin
        at <= at + {48'd0, layer.store_channels};
        at_pixel <= at_pixel + 32'd1;
        if (at_pixel + 32'd1 == layer.out_pixels) begin
          at_pixel <= '0;
          at <= at_group + 64'(GROUP);
          at_group <= at_group + 64'(GROUP);
        end
      end
    end
    if (sent) begin
      beats_head <= beats_head + 6'd1;
      burst_left <= burst_left - 5'd1;
      if (wlast) bursting <= 1'b0;
    end
    answers <= answers + 7'(starts_burst) - 7'(bvalid);
    if (bvalid && bresp != 2'd0) error <= 1'b1;
    if (all_put && beats_count == 7'd0 && idle) begin
      active <= 1'b0;
      all_put <= 1'b0;
    end
    if (start) begin
      {active, reading, joining, is_first} <= 4'b1111;
      all_put <= 1'b0;
      {pixel, channel, join_channel} <= '0;
      word_at <= layer.out_base;
      pixels_left <= layer.out_pixels;
      join_group <= '0;
      at <= {base[63:4], 4'd0};
      at_group <= {base[63:4], 4'd0};
      at_pixel <= '0;
      group <= '0;
      by_group <= starts_by_group;
      // The first beat begins with what is not written.
      held <= COUNT'(base[3:0]);
      bytes <= '0;
    end
    if (reset) begin
      {active, reading, joining, all_put, awvalid, bursting, error} <= '0;
      {line, asked, words_head, words_tail, words_count} <= '0;
      {beats_head, beats_tail, beats_count, answers, held} <= '0;
    end
  end
endmodule
