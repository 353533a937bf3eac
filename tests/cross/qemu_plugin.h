// The interface between qemu and its plugins, as far as ours use it. qemu's own header is not
// packaged everywhere; this is interface version 1 (qemu 5.2 to 8).
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;

extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                                  void (*callback)(qemu_plugin_id_t id,
                                                                   struct qemu_plugin_tb* block));
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb* block, int op,
                                                     void* counter, uint64_t value);
extern void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id,
                                           void (*callback)(qemu_plugin_id_t id, void* data),
                                           void* data);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* block);
extern uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb* block);
extern void qemu_plugin_outs(const char* text);

#define EXPORTED __attribute__((visibility("default")))

enum { kPluginVersion = 1, kAdd = 0 };
