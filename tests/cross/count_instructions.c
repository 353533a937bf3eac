// A plugin of qemu-user that counts the instructions a program executes and says so at the end:
// "instructions N".
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "qemu_plugin.h"

EXPORTED int qemu_plugin_version = kPluginVersion;

// Of all threads together; not exact where several run at once.
static uint64_t instructions;

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb* block) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_inline(block, kAdd, &instructions,
                                           qemu_plugin_tb_n_insns(block));
}

static void at_exit(qemu_plugin_id_t id, void* data) {
  char line[64];
  (void)id;
  (void)data;
  snprintf(line, sizeof line, "instructions %" PRIu64 "\n", instructions);
  qemu_plugin_outs(line);
}

EXPORTED int qemu_plugin_install(qemu_plugin_id_t id, const void* info, int argc, char** argv) {
  (void)info;
  (void)argc;
  (void)argv;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, at_exit, NULL);
  return 0;
}
