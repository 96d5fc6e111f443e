/*
 * What every attack shares: a verdict, said in one line and in the exit status.
 *
 * The attacks are one static program so that the same attempts run inside every backend and every image. It is
 * brought in by a read-only mount. An attack that could not be made is "unable", which fails its proof just as a
 * success does: a proof that tested nothing must not pass.
 */
#ifndef HOLDFAST_ATTACK_H
#define HOLDFAST_ATTACK_H

#include <stdbool.h>
#include <stddef.h>

enum { EXIT_HELD = 0, EXIT_BROKEN = 1, EXIT_UNABLE = 2 };

#define PRINTS __attribute__((format(printf, 1, 2)))

int held(const char *format, ...) PRINTS;
int broken(const char *format, ...) PRINTS;
int unable(const char *format, ...) PRINTS;

/* True when the last call failed the way a closed door fails, and not because its arguments made no sense. */
bool is_refused(long result);

/* Held when `result` is a refusal, broken otherwise. */
int expect_refusal(const char *what, long result);

/* A child that died of SIGSYS or was refused is held; runs `attempt` in a child and judges how it ended. */
int in_child(const char *what, long (*attempt)(void));

/* Whether `needle` stands in the first megabyte of an open file. */
bool file_contains(int descriptor, const char *needle);

typedef int attack_function(int count, char **arguments);

struct attack {
  const char *name;
  attack_function *run;
  int least_arguments;
};

/* Each surface's table, ended by a row without a name. */
extern const struct attack NETWORK_ATTACKS[];
extern const struct attack FILESYSTEM_ATTACKS[];
extern const struct attack MOUNT_ATTACKS[];
extern const struct attack PROCESS_ATTACKS[];
extern const struct attack ESCAPE_ATTACKS[];
extern const struct attack PRIVILEGE_ATTACKS[];
extern const struct attack RESOURCE_ATTACKS[];
extern const struct attack GUEST_ATTACKS[];
extern const struct attack NEIGHBOUR_ATTACKS[];
extern const struct attack FILTER_ATTACKS[];
extern const struct attack QUEUE_ATTACKS[];
extern const struct attack WORKSPACE_ATTACKS[];
extern const struct attack COUNT_ATTACKS[];

#endif
