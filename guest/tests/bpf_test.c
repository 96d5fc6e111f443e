#include "../src/bpf.h"
#include "claim.h"

#include <string.h>

static struct bpf_program program;

static struct bpf_program *fresh(void) {
  memset(&program, 0, sizeof program);
  return &program;
}

int main(void) {
  CLAIM("a branch and a jump get the distance to their labels", {
    struct bpf_program *p = fresh();
    bpf_label yes = bpf_new_label(p), no = bpf_new_label(p);
    bpf_load(p, 4);
    bpf_branch(p, BPF_JEQ, 7, yes, no);
    bpf_return(p, 1);
    bpf_place(p, no);
    bpf_jump(p, yes);
    bpf_return(p, 2);
    bpf_place(p, yes);
    bpf_return(p, 3);
    EXPECT(bpf_finish(p) && p->length == 6);
    EXPECT(p->code[1].jt == 3 && p->code[1].jf == 1 && p->code[1].k == 7);
    EXPECT(p->code[3].k == 1);
  });
  CLAIM("a branch to the next instruction needs no label", {
    struct bpf_program *p = fresh();
    bpf_branch(p, BPF_JGE, 7, BPF_NEXT, BPF_NEXT);
    bpf_return(p, 1);
    EXPECT(bpf_finish(p) && p->code[0].jt == 0 && p->code[0].jf == 0);
  });
  CLAIM("a label without a place, with two, or at the end of the program is a mistake", {
    struct bpf_program *p = fresh();
    bpf_jump(p, bpf_new_label(p));
    bpf_return(p, 1);
    EXPECT(!bpf_finish(p));
    p = fresh();
    bpf_label twice = bpf_new_label(p);
    bpf_place(p, twice);
    bpf_return(p, 1);
    bpf_place(p, twice);
    EXPECT(!bpf_finish(p));
    p = fresh();
    bpf_label end = bpf_new_label(p);
    bpf_jump(p, end);
    bpf_place(p, end);
    EXPECT(!bpf_finish(p));
  });
  CLAIM("a jump backwards is a mistake", {
    struct bpf_program *p = fresh();
    bpf_label back = bpf_new_label(p);
    bpf_place(p, back);
    bpf_load(p, 0);
    bpf_jump(p, back);
    bpf_return(p, 1);
    EXPECT(!bpf_finish(p));
  });
  CLAIM("a branch reaches 255 instructions and no further; a jump reaches all", {
    for (int between = 255; between <= 256; between++) {
      struct bpf_program *p = fresh();
      bpf_label far = bpf_new_label(p);
      bpf_branch(p, BPF_JEQ, 7, far, BPF_NEXT);
      for (int i = 0; i < between; i++) bpf_load(p, 0);
      bpf_place(p, far);
      bpf_return(p, 1);
      EXPECT(bpf_finish(p) == (between == 255));
    }
    struct bpf_program *p = fresh();
    bpf_label far = bpf_new_label(p);
    bpf_jump(p, far);
    for (int i = 0; i < 256; i++) bpf_load(p, 0);
    bpf_place(p, far);
    bpf_return(p, 1);
    EXPECT(bpf_finish(p) && p->code[0].k == 256);
  });
  CLAIM("too many instructions or labels are a mistake, not an overflow", {
    struct bpf_program *p = fresh();
    for (int i = 0; i <= BPF_PROGRAM_CAPACITY; i++) bpf_return(p, 1);
    EXPECT(!bpf_finish(p));
    p = fresh();
    for (int i = 0; i <= BPF_LABEL_CAPACITY; i++) bpf_new_label(p);
    EXPECT(!bpf_finish(p));
  });
  return broken_claims;
}
