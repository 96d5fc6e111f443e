/*
 * A small assembler for classic BPF: jumps name labels, and the offsets are computed when the program is complete.
 */
#ifndef HOLDFAST_BPF_H
#define HOLDFAST_BPF_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

enum { BPF_PROGRAM_CAPACITY = 768, BPF_LABEL_CAPACITY = 256 };

/* A place in a program. BPF_NEXT is the instruction that follows. */
typedef uint16_t bpf_label;
#define BPF_NEXT ((bpf_label)UINT16_MAX)

/* Starts as zeroes. After the first mistake nothing more is written, and bpf_finish reports it. */
struct bpf_program {
  struct sock_filter code[BPF_PROGRAM_CAPACITY];
  struct {
    bpf_label if_true, if_false;
  } targets[BPF_PROGRAM_CAPACITY];
  int places[BPF_LABEL_CAPACITY]; /* index of the instruction plus one; 0: not placed */
  unsigned short length;
  unsigned short label_count;
  bool is_broken;
};

/* A new label; bpf_place says which instruction it names. */
bpf_label bpf_new_label(struct bpf_program *p);

/* The next instruction has this label. A label has one place. */
void bpf_place(struct bpf_program *p, bpf_label label);

/* Loads the 32-bit word at this offset of the data. */
void bpf_load(struct bpf_program *p, uint32_t offset);

void bpf_return(struct bpf_program *p, uint32_t value);

void bpf_jump(struct bpf_program *p, bpf_label target);

/* test: BPF_JEQ, BPF_JGE, BPF_JGT or BPF_JSET, of the loaded word with `operand`. */
void bpf_branch(struct bpf_program *p, uint16_t test, uint32_t operand, bpf_label if_true, bpf_label if_false);

/*
 * Computes the offsets. False when the program did not fit, when a label has no place or two, when a jump goes backwards, or when a branch
 * goes further than its 8 bits reach (bpf_jump reaches everything).
 */
bool bpf_finish(struct bpf_program *p);

#endif
