// A plugin of qemu-system-arm that counts how often each translated block runs, and at the end
// writes a line for each to the file of `-plugin ...,out=FILE`: "ADDRESS INSTRUCTIONS COUNT".
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cross/qemu_plugin.h"

EXPORTED int qemu_plugin_version = kPluginVersion;

// One per block and number of instructions; a block that is translated again keeps its own. They
// never move: qemu adds to them by address.
struct counted {
  struct counted* next;
  uint64_t address;
  uint64_t instructions;
  uint64_t count;
};

enum { kBuckets = 4096 };
static struct counted* buckets[kBuckets];
static const char* path;

static struct counted* counted_of(uint64_t address, uint64_t instructions) {
  struct counted** place = &buckets[(address >> 1) % kBuckets];
  for (; *place != NULL; place = &(*place)->next) {
    if ((*place)->address == address && (*place)->instructions == instructions) return *place;
  }
  *place = calloc(1, sizeof **place);
  if (*place == NULL) abort();
  (*place)->address = address;
  (*place)->instructions = instructions;
  return *place;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb* block) {
  (void)id;
  struct counted* counted = counted_of(qemu_plugin_tb_vaddr(block), qemu_plugin_tb_n_insns(block));
  qemu_plugin_register_vcpu_tb_exec_inline(block, kAdd, &counted->count, 1);
}

static void at_exit(qemu_plugin_id_t id, void* data) {
  (void)id;
  (void)data;
  FILE* file = fopen(path, "w");
  if (file == NULL) {
    qemu_plugin_outs("count_blocks: cannot write the file\n");
    return;
  }
  for (size_t i = 0; i < kBuckets; ++i) {
    for (const struct counted* block = buckets[i]; block != NULL; block = block->next) {
      fprintf(file, "%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", block->address, block->instructions,
              block->count);
    }
  }
  fclose(file);
}

EXPORTED int qemu_plugin_install(qemu_plugin_id_t id, const void* info, int argc, char** argv) {
  (void)info;
  for (int i = 0; i < argc; ++i) {
    if (strncmp(argv[i], "out=", 4) == 0) path = strdup(argv[i] + 4);
  }
  if (path == NULL) return 1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, at_exit, NULL);
  return 0;
}
