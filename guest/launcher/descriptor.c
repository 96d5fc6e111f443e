/* See descriptor.h. */
#define _GNU_SOURCE
#include "descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "plan.h"
#include "report.h"

enum { FIRST_OWN_DESCRIPTOR = FD_FIRST_SOURCE + MAX_SOURCES + 2 };

int raise_descriptor(int descriptor) {
  int raised = fcntl(descriptor, F_DUPFD_CLOEXEC, FIRST_OWN_DESCRIPTOR);
  if (raised < 0) fail("descriptors", "cannot move a file descriptor: %s", strerror(errno));
  close(descriptor);
  return raised;
}

struct pipe_ends make_pipe(void) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail("descriptors", "cannot make a pipe: %s", strerror(errno));
  return (struct pipe_ends){.read = raise_descriptor(ends[0]), .write = raise_descriptor(ends[1])};
}

void inherit_as(int descriptor, int number) {
  if (dup2(descriptor, number) < 0) _exit(126);
}
