/*
 * The supervisor: one small process per execution, between the guest and the program. It may serve one after another.
 *
 * It is the subreaper of everything the program starts, so a child that calls setsid, forks twice, changes its group
 * or ignores signals still has the supervisor as its nearest ancestor when its parent dies. "No children left" from
 * the kernel is then a proof that the whole tree is gone. It speaks with the guest over a socket pair, in messages.
 */
#ifndef HOLDFAST_SUPERVISOR_H
#define HOLDFAST_SUPERVISOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#define MAX_RLIMITS 16

struct program {
  char *block;          /* where argv, env, cwd and their strings lie */
  size_t block_size;
  char **argv, **env;
  const char *cwd;
  bool is_self;         /* the guest's own binary is to be run */
  uid_t uid;
  gid_t gid;
  bool changes_user;
  uint32_t max_processes;   /* of its user, counted by the kernel; 0: no limit of its own */
  bool has_terminal;
  int input, output, errors;
  struct { int resource; struct rlimit limit; } rlimits[MAX_RLIMITS];
  int rlimit_count;
};

enum start_step { STEP_FORK, STEP_USER, STEP_RLIMIT, STEP_CWD, STEP_TERMINAL, STEP_EXEC };

/* Guest to supervisor. */
enum order_kind { ORDER_SIGNAL_MAIN, ORDER_SIGNAL_TREE, ORDER_KILL };
struct order {
  uint8_t kind;
  int32_t signal;
  uint32_t grace_ms;
};

/* Supervisor to guest. The last word about a program is EMPTY, or EXITED without survivors, which says both; or FAILED. */
enum report_kind { REPORT_STARTED, REPORT_FAILED, REPORT_EXITED, REPORT_EMPTY };
struct report {
  uint8_t kind;
  uint8_t step;         /* FAILED */
  uint8_t survivors;    /* EXITED */
  int32_t error;        /* FAILED: errno */
  int32_t pid;          /* STARTED */
  int32_t status;       /* EXITED: a wait status */
  uint32_t killed;      /* EMPTY, and EXITED without survivors */
};

/*
 * Runs in the forked child of the guest; never returns. `control` is its end of the socket pair, `self` the guest's own
 * binary. When nothing is left of a tree it waits for another program (handover.h), or for the end of the socket.
 */
_Noreturn void supervise(const struct program *program, int control, int self);

#endif
