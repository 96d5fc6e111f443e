#include "bpf.h"

bpf_label bpf_new_label(struct bpf_program *p) {
  if (p->label_count == BPF_LABEL_CAPACITY) {
    p->is_broken = true;
    return BPF_NEXT;
  }
  return p->label_count++;
}

void bpf_place(struct bpf_program *p, bpf_label label) {
  if (label >= p->label_count || p->places[label] != 0) p->is_broken = true;
  else p->places[label] = p->length + 1;
}

static void emit(struct bpf_program *p, struct sock_filter instruction, bpf_label if_true, bpf_label if_false) {
  if (p->length == BPF_PROGRAM_CAPACITY) p->is_broken = true;
  if (p->is_broken) return;
  p->code[p->length] = instruction;
  p->targets[p->length].if_true = if_true;
  p->targets[p->length].if_false = if_false;
  p->length++;
}

void bpf_load(struct bpf_program *p, uint32_t offset) {
  emit(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset), BPF_NEXT, BPF_NEXT);
}

void bpf_return(struct bpf_program *p, uint32_t value) {
  emit(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, value), BPF_NEXT, BPF_NEXT);
}

void bpf_jump(struct bpf_program *p, bpf_label target) {
  emit(p, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 0), target, BPF_NEXT);
}

void bpf_branch(struct bpf_program *p, uint16_t test, uint32_t operand, bpf_label if_true, bpf_label if_false) {
  emit(p, (struct sock_filter)BPF_STMT((uint16_t)(BPF_JMP | BPF_K | test), operand), if_true, if_false);
}

/* How many instructions lie between this one and the label's; -1 when the label has no place after it. */
static int distance(const struct bpf_program *p, int from, bpf_label label) {
  if (label == BPF_NEXT) return 0;
  if (label >= p->label_count) return -1;
  int place = p->places[label] - 1;
  return place > from && place < p->length ? place - from - 1 : -1;
}

bool bpf_finish(struct bpf_program *p) {
  for (int at = 0; at < p->length && !p->is_broken; at++) {
    struct sock_filter *instruction = &p->code[at];
    int if_true = distance(p, at, p->targets[at].if_true);
    int if_false = distance(p, at, p->targets[at].if_false);
    bool is_jump = instruction->code == (BPF_JMP | BPF_JA);
    if (if_true < 0 || if_false < 0 || (!is_jump && (if_true > UINT8_MAX || if_false > UINT8_MAX))) {
      p->is_broken = true;
    } else if (is_jump) {
      instruction->k = (uint32_t)if_true;
    } else {
      instruction->jt = (uint8_t)if_true;
      instruction->jf = (uint8_t)if_false;
    }
  }
  return !p->is_broken;
}
