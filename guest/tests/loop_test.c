/* The loop with an epoll that refuses: a guest that would go deaf ends, and its sandbox with it. */
#include "../src/guest.h"
#include "claim.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

static int refusal;

/* In place of the C library's, for every call from loop.c. */
int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event) {
  (void)epoll, (void)operation, (void)fd, (void)event;
  errno = refusal;
  return refusal ? -1 : 0;
}

/* How a process ends that arms one watch; what it printed is left in `text`. */
static int status_of_arming(int error, bool was_armed, char *text, size_t size) {
  int ends[2], status;
  if (pipe(ends) != 0) return -1;
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    struct watch watch = {.fd = ends[0], .is_armed = was_armed, .events = EPOLLOUT};
    refusal = error;
    watch_arm(&watch, EPOLLIN);
    _exit(watch.is_armed ? 0 : 3);
  }
  close(ends[1]);
  ssize_t length = read(ends[0], text, size - 1);
  text[length > 0 ? length : 0] = 0;
  close(ends[0]);
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void) {
  char text[256];
  CLAIM("a watch that the kernel makes is armed, and nothing is printed", {
    EXPECT(status_of_arming(0, false, text, sizeof text) == 0);
    EXPECT(text[0] == 0);
  });
  CLAIM("the guest ends when a watch cannot be made, and says why", {
    EXPECT(status_of_arming(ENOSPC, false, text, sizeof text) == 1);
    EXPECT(strstr(text, "cannot watch a descriptor") != NULL);
  });
  CLAIM("the guest ends when a watch cannot be changed", { EXPECT(status_of_arming(ENOMEM, true, text, sizeof text) == 1); });
  return 0;
}
