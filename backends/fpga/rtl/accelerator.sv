// The accelerator: a kernel of Vitis' kind that runs the layers that descriptors describe, one start for
// a whole segment (docs/accelerator.md). This module connects its engines and runs layer after layer.
module accelerator #(
    parameter int GROUP = 32,  // channels in and out of the array: 8, 16 or 32
    parameter int ENTRIES = 256,
    parameter int BANKS = 12,
    parameter int BANK_WORDS = 4096,
    parameter int WEIGHT_LINES = 2048,
    parameter int WATCHDOG_BITS = 20
) (
    input logic ap_clk,
    input logic ap_rst_n,
    output logic interrupt,
    input logic [11:0] s_axi_control_awaddr,
    input logic s_axi_control_awvalid,
    output logic s_axi_control_awready,
    input logic [31:0] s_axi_control_wdata,
    input logic [3:0] s_axi_control_wstrb,
    input logic s_axi_control_wvalid,
    output logic s_axi_control_wready,
    output logic [1:0] s_axi_control_bresp,
    output logic s_axi_control_bvalid,
    input logic s_axi_control_bready,
    input logic [11:0] s_axi_control_araddr,
    input logic s_axi_control_arvalid,
    output logic s_axi_control_arready,
    output logic [31:0] s_axi_control_rdata,
    output logic [1:0] s_axi_control_rresp,
    output logic s_axi_control_rvalid,
    input logic s_axi_control_rready,
    output logic [63:0] m_axi_gmem0_araddr,
    output logic [7:0] m_axi_gmem0_arlen,
    output logic m_axi_gmem0_arvalid,
    input logic m_axi_gmem0_arready,
    input logic [127:0] m_axi_gmem0_rdata,
    input logic [1:0] m_axi_gmem0_rresp,
    input logic m_axi_gmem0_rlast,
    input logic m_axi_gmem0_rvalid,
    output logic m_axi_gmem0_rready,
    output logic [63:0] m_axi_gmem0_awaddr,
    output logic [7:0] m_axi_gmem0_awlen,
    output logic m_axi_gmem0_awvalid,
    input logic m_axi_gmem0_awready,
    output logic [127:0] m_axi_gmem0_wdata,
    output logic [15:0] m_axi_gmem0_wstrb,
    output logic m_axi_gmem0_wlast,
    output logic m_axi_gmem0_wvalid,
    input logic m_axi_gmem0_wready,
    input logic [1:0] m_axi_gmem0_bresp,
    input logic m_axi_gmem0_bvalid,
    output logic m_axi_gmem0_bready,
    output logic [63:0] m_axi_gmem1_araddr,
    output logic [7:0] m_axi_gmem1_arlen,
    output logic m_axi_gmem1_arvalid,
    input logic m_axi_gmem1_arready,
    input logic [127:0] m_axi_gmem1_rdata,
    input logic [1:0] m_axi_gmem1_rresp,
    input logic m_axi_gmem1_rlast,
    input logic m_axi_gmem1_rvalid,
    output logic m_axi_gmem1_rready,
    output logic [63:0] m_axi_gmem1_awaddr,
    output logic [7:0] m_axi_gmem1_awlen,
    output logic m_axi_gmem1_awvalid,
    /* verilator lint_off UNUSEDSIGNAL */
    input logic m_axi_gmem1_awready,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic [127:0] m_axi_gmem1_wdata,
    output logic [15:0] m_axi_gmem1_wstrb,
    output logic m_axi_gmem1_wlast,
    output logic m_axi_gmem1_wvalid,
    /* verilator lint_off UNUSEDSIGNAL */
    input logic m_axi_gmem1_wready,
    /* verilator lint_on UNUSEDSIGNAL */
    /* verilator lint_off UNUSEDSIGNAL */
    input logic [1:0] m_axi_gmem1_bresp,
    input logic m_axi_gmem1_bvalid,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic m_axi_gmem1_bready,
    output logic [63:0] m_axi_gmem2_araddr,
    output logic [7:0] m_axi_gmem2_arlen,
    output logic m_axi_gmem2_arvalid,
    input logic m_axi_gmem2_arready,
    input logic [127:0] m_axi_gmem2_rdata,
    input logic [1:0] m_axi_gmem2_rresp,
    input logic m_axi_gmem2_rlast,
    input logic m_axi_gmem2_rvalid,
    output logic m_axi_gmem2_rready,
    output logic [63:0] m_axi_gmem2_awaddr,
    output logic [7:0] m_axi_gmem2_awlen,
    output logic m_axi_gmem2_awvalid,
    /* verilator lint_off UNUSEDSIGNAL */
    input logic m_axi_gmem2_awready,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic [127:0] m_axi_gmem2_wdata,
    output logic [15:0] m_axi_gmem2_wstrb,
    output logic m_axi_gmem2_wlast,
    output logic m_axi_gmem2_wvalid,
    /* verilator lint_off UNUSEDSIGNAL */
    input logic m_axi_gmem2_wready,
    /* verilator lint_on UNUSEDSIGNAL */
    /* verilator lint_off UNUSEDSIGNAL */
    input logic [1:0] m_axi_gmem2_bresp,
    input logic m_axi_gmem2_bvalid,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic m_axi_gmem2_bready,
    output logic [63:0] m_axi_gmem3_araddr,
    output logic [7:0] m_axi_gmem3_arlen,
    output logic m_axi_gmem3_arvalid,
    input logic m_axi_gmem3_arready,
    input logic [127:0] m_axi_gmem3_rdata,
    input logic [1:0] m_axi_gmem3_rresp,
    input logic m_axi_gmem3_rlast,
    input logic m_axi_gmem3_rvalid,
    output logic m_axi_gmem3_rready,
    output logic [63:0] m_axi_gmem3_awaddr,
    output logic [7:0] m_axi_gmem3_awlen,
    output logic m_axi_gmem3_awvalid,
    /* verilator lint_off UNUSEDSIGNAL */
    input logic m_axi_gmem3_awready,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic [127:0] m_axi_gmem3_wdata,
    output logic [15:0] m_axi_gmem3_wstrb,
    output logic m_axi_gmem3_wlast,
    output logic m_axi_gmem3_wvalid,
    /* verilator lint_off UNUSEDSIGNAL */
    input logic m_axi_gmem3_wready,
    /* verilator lint_on UNUSEDSIGNAL */
    /* verilator lint_off UNUSEDSIGNAL */
    input logic [1:0] m_axi_gmem3_bresp,
    input logic m_axi_gmem3_bvalid,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic m_axi_gmem3_bready
);
  import layer_pkg::*;
  localparam int PORTS = 4;
  localparam int CLIENTS = 3;  // of a port: weights, maps, and descriptors or tables
  localparam int WORDS = BANKS * BANK_WORDS;
  localparam int BITS = $clog2(WORDS);
  localparam int WORD = GROUP * 8;
  localparam int STROBES = GROUP / 4;
  localparam int TILE_LINES = GROUP * GROUP / 64;
  localparam int TILE_BITS = TILE_LINES > 1 ? $clog2(TILE_LINES) : 1;
  localparam int LOADED_COLUMNS = 64 / GROUP;
  localparam int SUM_BITS = 16 + $clog2(GROUP);
  localparam int ENTRY_BITS = $clog2(ENTRIES);
  localparam int READER_LATENCY = 8;
  localparam int FEEDER_LATENCY = 2;
  localparam int ARRAY_LATENCY = arithmetic_pkg::column_latency(GROUP);
  localparam int LINE_BITS = $clog2(WEIGHT_LINES);

  logic clk;
  assign clk = ap_clk;

  // --- the ports' signals ------------------------------------------------------------------------
  logic [63:0] araddr[PORTS];
  logic [7:0] arlen[PORTS];
  logic arvalid[PORTS], arready[PORTS], rlast[PORTS], rvalid[PORTS], rready[PORTS];
  logic [127:0] rdata[PORTS];
  logic [1:0] rresp[PORTS];
  assign m_axi_gmem0_araddr = araddr[0];
  assign m_axi_gmem0_arlen = arlen[0];
  assign m_axi_gmem0_arvalid = arvalid[0];
  assign m_axi_gmem0_rready = rready[0];
  assign arready[0] = m_axi_gmem0_arready;
  assign rdata[0] = m_axi_gmem0_rdata;
  assign rresp[0] = m_axi_gmem0_rresp;
  assign rlast[0] = m_axi_gmem0_rlast;
  assign rvalid[0] = m_axi_gmem0_rvalid;
  assign m_axi_gmem1_araddr = araddr[1];
  assign m_axi_gmem1_arlen = arlen[1];
  assign m_axi_gmem1_arvalid = arvalid[1];
  assign m_axi_gmem1_rready = rready[1];
  assign arready[1] = m_axi_gmem1_arready;
  assign rdata[1] = m_axi_gmem1_rdata;
  assign rresp[1] = m_axi_gmem1_rresp;
  assign rlast[1] = m_axi_gmem1_rlast;
  assign rvalid[1] = m_axi_gmem1_rvalid;
  assign m_axi_gmem2_araddr = araddr[2];
  assign m_axi_gmem2_arlen = arlen[2];
  assign m_axi_gmem2_arvalid = arvalid[2];
  assign m_axi_gmem2_rready = rready[2];
  assign arready[2] = m_axi_gmem2_arready;
  assign rdata[2] = m_axi_gmem2_rdata;
  assign rresp[2] = m_axi_gmem2_rresp;
  assign rlast[2] = m_axi_gmem2_rlast;
  assign rvalid[2] = m_axi_gmem2_rvalid;
  assign m_axi_gmem3_araddr = araddr[3];
  assign m_axi_gmem3_arlen = arlen[3];
  assign m_axi_gmem3_arvalid = arvalid[3];
  assign m_axi_gmem3_rready = rready[3];
  assign arready[3] = m_axi_gmem3_arready;
  assign rdata[3] = m_axi_gmem3_rdata;
  assign rresp[3] = m_axi_gmem3_rresp;
  assign rlast[3] = m_axi_gmem3_rlast;
  assign rvalid[3] = m_axi_gmem3_rvalid;
  assign m_axi_gmem1_awaddr = '0;
  assign m_axi_gmem1_awlen = '0;
  assign m_axi_gmem1_awvalid = 1'b0;
  assign m_axi_gmem1_wdata = '0;
  assign m_axi_gmem1_wstrb = '0;
  assign m_axi_gmem1_wlast = 1'b0;
  assign m_axi_gmem1_wvalid = 1'b0;
  assign m_axi_gmem1_bready = 1'b1;
  assign m_axi_gmem2_awaddr = '0;
  assign m_axi_gmem2_awlen = '0;
  assign m_axi_gmem2_awvalid = 1'b0;
  assign m_axi_gmem2_wdata = '0;
  assign m_axi_gmem2_wstrb = '0;
  assign m_axi_gmem2_wlast = 1'b0;
  assign m_axi_gmem2_wvalid = 1'b0;
  assign m_axi_gmem2_bready = 1'b1;
  assign m_axi_gmem3_awaddr = '0;
  assign m_axi_gmem3_awlen = '0;
  assign m_axi_gmem3_awvalid = 1'b0;
  assign m_axi_gmem3_wdata = '0;
  assign m_axi_gmem3_wstrb = '0;
  assign m_axi_gmem3_wlast = 1'b0;
  assign m_axi_gmem3_wvalid = 1'b0;
  assign m_axi_gmem3_bready = 1'b1;

  // --- control -----------------------------------------------------------------------------------
  logic start, idle, runs, clear, stop, finished;
  logic [63:0] code;
  logic [31:0] code_bytes, error_code, error_place, number;
  logic [4*64-1:0] bases;
  logic [5*32-1:0] counters;
  assign interrupt = finished;
  localparam logic [127:0] PARAMETERS =
      128'(WEIGHT_LINES) << 112 | 128'(ENTRIES) << 96 | 128'(WORDS) << 64 | 128'(GROUP) << 48 |
      128'd2 << 32 | 128'(GROUP);
  control_port #(
      .PARAMETERS(PARAMETERS)
  ) control (
      .clk(clk), .reset_n(ap_rst_n), .awaddr(s_axi_control_awaddr), .awvalid(s_axi_control_awvalid),
      .awready(s_axi_control_awready), .wdata(s_axi_control_wdata), .wstrb(s_axi_control_wstrb),
      .wvalid(s_axi_control_wvalid), .wready(s_axi_control_wready), .bresp(s_axi_control_bresp),
      .bvalid(s_axi_control_bvalid), .bready(s_axi_control_bready), .araddr(s_axi_control_araddr),
      .arvalid(s_axi_control_arvalid), .arready(s_axi_control_arready),
      .rdata(s_axi_control_rdata), .rresp(s_axi_control_rresp), .rvalid(s_axi_control_rvalid),
      .rready(s_axi_control_rready), .start(start), .finished(finished), .idle(idle),
      .code(code), .code_bytes(code_bytes), .bases(bases), .error(error_code),
      .error_place(error_place), .counters(counters)
  );

  // --- memory's readers --------------------------------------------------------------------------
  logic [CLIENTS-1:0] request[PORTS], grant[PORTS], client_valid[PORTS];
  logic [63:0] client_address[PORTS][CLIENTS];
  logic [4:0] client_beats[PORTS][CLIENTS];
  logic [127:0] port_data[PORTS];
  logic [PORTS-1:0] port_idle, port_error;
  for (genvar p = 0; p < PORTS; p++) begin : g_port
    read_port #(.CLIENTS(CLIENTS)) port (
        .clk(clk), .reset(clear), .stop(stop), .request(request[p]),
        .address({client_address[p][2], client_address[p][1], client_address[p][0]}),
        .beats({client_beats[p][2], client_beats[p][1], client_beats[p][0]}), .grant(grant[p]),
        .valid(client_valid[p]), .data(port_data[p]), .idle(port_idle[p]), .error(port_error[p]),
        .araddr(araddr[p]), .arlen(arlen[p]), .arvalid(arvalid[p]), .arready(arready[p]),
        .rdata(rdata[p]), .rresp(rresp[p]), .rlast(rlast[p]), .rvalid(rvalid[p]),
        .rready(rready[p])
    );
  end
  for (genvar p = 2; p < PORTS; p++) begin : g_no_third
    assign request[p][2] = 1'b0;
    assign client_address[p][2] = '0;
    assign client_beats[p][2] = '0;
  end

  // --- descriptors -------------------------------------------------------------------------------
  logic announce, announce_ready, next_valid, take, fetch_error;
  layer_t announced, next, layer;
  descriptor_fetch fetch (
      .clk(clk), .reset(clear), .start(start), .code(code), .code_bytes(code_bytes),
      .request(request[0][2]), .address(client_address[0][2]), .beats(client_beats[0][2]),
      .grant(grant[0][2]), .valid(client_valid[0][2]), .data(port_data[0]), .announce(announce),
      .announce_ready(announce_ready), .announced(announced), .next_valid(next_valid), .next(next),
      .take(take), .number(number), .error(fetch_error)
  );

  // --- weights -----------------------------------------------------------------------------------
  logic [PORTS-1:0] plane_ready;
  logic [31:0] arrived[PORTS], arrived_all, released;
  logic [LINE_BITS-1:0] line;
  logic [511:0] line_now, line_data;
  logic feeder_ready, tile_valid, factor_valid, factor_slot;
  logic [TILE_BITS-1:0] tile_line;
  logic [2:0] factor_line;
  logic [1:0] factor_free;
  logic [7:0] tiles_loaded, passes_started;
  logic [63:0] weights_base;
  assign weights_base = bases[announced.weights_base[1:0]*64+:64] + {32'd0, announced.weights_offset};
  for (genvar p = 0; p < PORTS; p++) begin : g_plane
    weight_plane #(.LINES(WEIGHT_LINES)) plane (
        .clk(clk), .reset(clear), .announce(announce), .ready(plane_ready[p]),
        .base(weights_base + {32'd0, announced.plane_bytes * 32'(p)}), .layer(announced),
        .request(request[p][0]), .address(client_address[p][0]), .beats(client_beats[p][0]),
        .grant(grant[p][0]), .valid(client_valid[p][0]), .data(port_data[p]),
        .arrived(arrived[p]), .released(released), .line(line), .quarter(line_now[p*128+:128])
    );
  end
  always_ff @(posedge clk) begin
    logic [31:0] least;
    least = arrived[0];
    for (int p = 1; p < PORTS; p++)
      if ($signed(arrived[p] - least) < 0) least = arrived[p];
    arrived_all <= clear ? 32'd0 : least;
    line_data <= line_now;
  end
  assign announce_ready = &plane_ready && feeder_ready;
  logic [7:0] started_line[READER_LATENCY-FEEDER_LATENCY];
  always_ff @(posedge clk) begin
    started_line[0] <= clear ? 8'd0 : passes_started;
    for (int i = 1; i < READER_LATENCY - FEEDER_LATENCY; i++)
      started_line[i] <= clear ? 8'd0 : started_line[i-1];
  end
  weight_feeder #(.TILE_LINES(TILE_LINES), .LINES(WEIGHT_LINES)) feeder (
      .clk(clk), .reset(clear), .announce(announce), .ready(feeder_ready), .layer(announced),
      .arrived(arrived_all), .released(released), .line(line), .slot_free(factor_free),
      .tile_valid(tile_valid), .tile_line(tile_line), .factor_valid(factor_valid),
      .factor_slot(factor_slot), .factor_line(factor_line), .tiles_loaded(tiles_loaded),
      .passes_started(started_line[READER_LATENCY-FEEDER_LATENCY-1])
  );

  // --- maps --------------------------------------------------------------------------------------
  logic [1:0] read;
  logic [2*BITS-1:0] read_address;
  logic [2*WORD-1:0] read_data;
  logic residual_request, residual_ready, store_read, store_ready, aux_ready;
  logic [BITS-1:0] residual_address, store_address;
  logic [WORD-1:0] aux_data;
  logic drain_write, drain_ready;
  logic [BITS-1:0] drain_address;
  logic [WORD-1:0] drain_data;
  logic [PORTS-1:0] load_write, load_ready;
  logic [BITS-1:0] load_address[PORTS];
  logic [STROBES-1:0] load_strobe[PORTS];
  logic [WORD-1:0] load_data[PORTS];
  map_banks #(.GROUP(GROUP), .BANKS(BANKS), .BANK_WORDS(BANK_WORDS), .WRITERS(1 + PORTS)) maps (
      .clk(clk), .read(read), .read_address(read_address), .read_data(read_data),
      .aux(residual_request || store_read),
      .aux_address(residual_request ? residual_address : store_address), .aux_ready(aux_ready),
      .aux_data(aux_data), .write({load_write, drain_write}),
      .write_address({load_address[3], load_address[2], load_address[1], load_address[0],
                      drain_address}),
      .write_strobe({load_strobe[3], load_strobe[2], load_strobe[1], load_strobe[0],
                     {STROBES{1'b1}}}),
      .write_data({load_data[3], load_data[2], load_data[1], load_data[0], drain_data}),
      .write_ready({load_ready, drain_ready})
  );
  assign residual_ready = aux_ready && residual_request;
  assign store_ready = aux_ready && !residual_request;

  logic begins, loads;
  logic [PORTS-1:0] load_busy;
  logic [15:0] load_row[PORTS], loaded_rows;
  for (genvar p = 0; p < PORTS; p++) begin : g_loader
    map_loader #(.GROUP(GROUP), .BITS(BITS), .FIRST(p), .STEP(PORTS)) loader (
        .clk(clk), .reset(clear), .start(begins && layer.load_used),
        .base(bases[layer.load_base[1:0]*64+:64] + {32'd0, layer.load_offset}), .layer(layer),
        .request(request[p][1]), .address(client_address[p][1]), .beats(client_beats[p][1]),
        .grant(grant[p][1]), .valid(client_valid[p][1]), .data(port_data[p]),
        .write(load_write[p]), .write_address(load_address[p]), .write_strobe(load_strobe[p]),
        .write_data(load_data[p]), .write_ready(load_ready[p]), .next_row(load_row[p]),
        .busy(load_busy[p])
    );
  end
  always_ff @(posedge clk) begin
    logic [15:0] least;
    least = load_row[0];
    for (int p = 1; p < PORTS; p++) if (load_row[p] < least) least = load_row[p];
    loaded_rows <= (begins && layer.load_used) || loads ? 16'd0 : least;
    loads <= begins && layer.load_used;
  end

  logic tables_start, tables_ready, table_write;
  logic [9:0] table_word;
  logic [31:0] table_data;
  assign tables_start = begins && (layer.has_table || layer.has_residual);
  table_loader tables (
      .clk(clk), .reset(clear), .start(tables_start),
      .base(bases[layer.tables_base[1:0]*64+:64] + {32'd0, layer.tables_offset}),
      .with_residual(layer.has_residual), .request(request[1][2]), .address(client_address[1][2]),
      .beats(client_beats[1][2]), .grant(grant[1][2]), .valid(client_valid[1][2]),
      .data(port_data[1]), .write(table_write), .word(table_word), .word_data(table_data),
      .ready(tables_ready)
  );

  // --- the array ---------------------------------------------------------------------------------
  logic reader_done, reader_error, issued, waits_for_data, waits_for_sums;
  logic array_valid, array_swap, sums_valid;
  logic [2*WORD-1:0] array_data;
  logic [ENTRY_BITS-1:0] entry;
  logic slot, fresh, maximum, step_ends, half;
  logic [GROUP*9*8-1:0] taps;
  logic [1:0] slot_free, complete;
  logic step_announce, step_slot, step_last_group;
  logic [15:0] step_group;
  logic [31:0] step_pixel, step_pixels;
  pixel_reader #(
      .GROUP(GROUP), .ENTRIES(ENTRIES), .WORDS(WORDS), .LATENCY(READER_LATENCY)
  ) reader (
      .clk(clk), .reset(clear), .run(runs), .layer(layer), .loaded_rows(loaded_rows),
      .slot_free(slot_free), .tiles_loaded(tiles_loaded), .passes_started(passes_started),
      .done(reader_done), .error(reader_error), .issued(issued), .waits_for_data(waits_for_data),
      .waits_for_sums(waits_for_sums), .read(read), .read_address(read_address),
      .read_data(read_data), .valid(array_valid), .swap(array_swap), .data(array_data),
      .taps(taps), .half(half), .entry(entry), .slot(slot), .fresh(fresh), .maximum(maximum), .step_ends(step_ends),
      .step_announce(step_announce), .step_slot(step_slot), .step_group(step_group),
      .step_pixel(step_pixel), .step_pixels(step_pixels), .step_last_group(step_last_group)
  );

  logic [TILE_LINES-1:0] load_lines;
  logic [GROUP*SUM_BITS-1:0] first_sums, second_sums;
  always_comb begin
    load_lines = '0;
    load_lines[tile_line] = tile_valid;
  end
  mac_array #(
      .INPUT_CHANNELS(GROUP), .OUTPUT_CHANNELS(GROUP), .LOADED_COLUMNS(LOADED_COLUMNS),
      .DEPTHWISE_ROWS(9)
  ) array (
      .clk(clk), .valid(array_valid), .swap(array_swap),
      .first(array_data[WORD-1:0]), .second(array_data[2*WORD-1:WORD]),
      .taps(taps), .load(load_lines), .weights(line_data), .valid_out(sums_valid),
      .first_sums(first_sums), .second_sums(second_sums)
  );
  localparam int SUM_META = ENTRY_BITS + 5;
  logic [SUM_META-1:0] sum_meta[ARRAY_LATENCY];
  always_ff @(posedge clk) begin
    sum_meta[0] <= {half, maximum, step_ends, fresh, slot, entry};
    for (int i = 1; i < ARRAY_LATENCY; i++) sum_meta[i] <= sum_meta[i-1];
  end

  logic drain_slot;
  logic [ENTRY_BITS-1:0] drain_entry;
  logic [2*GROUP*32-1:0] drained;
  accumulators #(.GROUP(GROUP), .ENTRIES(ENTRIES), .SUM_BITS(SUM_BITS)) sums (
      .clk(clk), .reset(clear), .valid(sums_valid), .slot(sum_meta[ARRAY_LATENCY-1][ENTRY_BITS]),
      .entry(sum_meta[ARRAY_LATENCY-1][ENTRY_BITS-1:0]),
      .fresh(sum_meta[ARRAY_LATENCY-1][ENTRY_BITS+1]),
      .maximum(sum_meta[ARRAY_LATENCY-1][ENTRY_BITS+3]), .single(layer.windowed),
      .half(sum_meta[ARRAY_LATENCY-1][ENTRY_BITS+4]),
      .step_ends(sum_meta[ARRAY_LATENCY-1][ENTRY_BITS+2]), .first(first_sums),
      .second(second_sums), .complete(complete), .drain_slot(drain_slot),
      .drain_entry(drain_entry), .drained(drained)
  );

  logic [31:0] done_pixels, group_pixels, stored_pixels;
  logic [15:0] group_now;
  logic drain_idle, wrote;
  drain #(.GROUP(GROUP), .ENTRIES(ENTRIES), .BITS(BITS)) finisher (
      .clk(clk), .reset(clear), .layer(layer), .tables_ready(tables_ready && !tables_start),
      .new_layer(begins), .idle(drain_idle), .wrote(wrote), .step_announce(step_announce),
      .step_slot(step_slot), .step_group(step_group), .step_pixel(step_pixel),
      .step_pixels(step_pixels), .step_last_group(step_last_group), .complete(complete),
      .slot_free(slot_free), .factor_valid(factor_valid), .factor_slot(factor_slot),
      .factor_line(factor_line), .line(line_data), .factor_free(factor_free),
      .drain_slot(drain_slot), .drain_entry(drain_entry), .drained(drained),
      .residual_request(residual_request), .residual_address(residual_address),
      .residual_ready(residual_ready), .residual_data(aux_data), .table_write(table_write),
      .table_word(table_word), .table_data(table_data), .write(drain_write),
      .write_address(drain_address), .write_data(drain_data), .write_ready(drain_ready),
      .done_pixels(done_pixels), .group_now(group_now), .group_pixels(group_pixels)
  );

  logic store_busy, store_error, store_moved, store_idle;
  always_comb begin
    stored_pixels = done_pixels;
    if (layer.op == TRANSFER) stored_pixels = loads || load_busy != '0 ? 32'd0 : layer.out_pixels;
  end
  map_store #(.GROUP(GROUP), .BITS(BITS)) store (
      .clk(clk), .reset(clear), .stop(stop), .start(begins && layer.store_used),
      .base(bases[layer.store_base[1:0]*64+:64] + {32'd0, layer.store_offset}), .layer(layer),
      .done_pixels(stored_pixels), .group_now(group_now),
      .group_pixels(group_pixels), .read(store_read),
      .read_address(store_address), .read_ready(store_ready), .read_data(aux_data),
      .busy(store_busy), .error(store_error), .moved(store_moved), .idle(store_idle),
      .awaddr(m_axi_gmem0_awaddr), .awlen(m_axi_gmem0_awlen), .awvalid(m_axi_gmem0_awvalid),
      .awready(m_axi_gmem0_awready), .wdata(m_axi_gmem0_wdata), .wstrb(m_axi_gmem0_wstrb),
      .wlast(m_axi_gmem0_wlast), .wvalid(m_axi_gmem0_wvalid), .wready(m_axi_gmem0_wready),
      .bresp(m_axi_gmem0_bresp), .bvalid(m_axi_gmem0_bvalid), .bready(m_axi_gmem0_bready)
  );

  // --- layer after layer -------------------------------------------------------------------------
  logic [PORTS-1:0] any_data;
  for (genvar p = 0; p < PORTS; p++) begin : g_data
    assign any_data[p] = |client_valid[p];
  end
  layer_control #(.WATCHDOG_BITS(WATCHDOG_BITS)) layers (
      .clk(clk), .reset_n(ap_rst_n), .start(start), .next_valid(next_valid), .next(next),
      .number(number), .take(take), .layer(layer), .idle(idle), .begins(begins), .runs(runs),
      .stop(stop), .clear(clear), .finished(finished),
      .layer_done(reader_done && drain_idle && load_busy == '0 && !store_busy && tables_ready),
      .memory_idle(&port_idle && store_idle),
      .progress(issued || wrote || store_moved || (|load_ready) || (|any_data)),
      .descriptor_error(fetch_error || reader_error),
      .axi_error(store_error || port_error != '0), .error_code(error_code),
      .error_place(error_place), .array_active(array_valid), .waits_for_data(waits_for_data),
      .waits_for_sums(waits_for_sums), .waits_for_end(reader_done), .counters(counters)
  );
endmodule
