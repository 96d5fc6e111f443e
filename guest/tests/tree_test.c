#include "../src/tree.h"
#include "claim.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that forks `depth` deep, each in a session of its own, each ignoring SIGTERM; says so when it stands. */
static pid_t grow(int depth, int said) {
  pid_t pid = fork();
  if (pid != 0) return pid;
  setsid();
  signal(SIGTERM, SIG_IGN);
  if (depth > 1) grow(depth - 1, said);
  if (write(said, "x", 1) != 1) _exit(1);
  for (;;) pause();
}

static pid_t vetoed;
static bool is_vetoed(pid_t pid) { return pid == vetoed; }

int main(void) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  int said[2];
  if (pipe(said) != 0) return 1;
  char byte;
  CLAIM("every descendant is found, whatever session it is in", {
    grow(4, said[1]);
    for (int i = 0; i < 4; i++) EXPECT(read(said[0], &byte, 1) == 1);
    struct pid_list list = {0};
    EXPECT(tree_descendants(getpid(), NULL, &list));
    EXPECT(list.count == 4);
    pid_list_free(&list);
  });
  CLAIM("a vetoed child is left out with all below it", {
    vetoed = grow(2, said[1]);
    for (int i = 0; i < 2; i++) EXPECT(read(said[0], &byte, 1) == 1);
    struct pid_list list = {0};
    EXPECT(tree_descendants(getpid(), is_vetoed, &list));
    EXPECT(list.count == 4);
    pid_list_free(&list);
  });
  CLAIM("killing rounds empty the tree, and the kernel says so", {
    int rounds = 0;
    do {
      tree_kill_round(getpid(), NULL);
      while (waitpid(-1, NULL, WNOHANG) > 0) continue;
    } while (waitpid(-1, NULL, 0) > 0 && ++rounds < 1000);
    EXPECT(waitpid(-1, NULL, 0) < 0 && errno == ECHILD);
  });
  /* Only root can be somebody else. */
  const uid_t somebody = 2120000000u;
  if (geteuid() == 0) CLAIM("every process of a user is found and killed, whoever its parent is", {
    pid_t child = fork();
    if (child == 0) {
      if (setresuid(0, somebody, 0) != 0) _exit(1);
      grow(3, said[1]);
      _exit(0);
    }
    for (int i = 0; i < 3; i++) EXPECT(read(said[0], &byte, 1) == 1);
    struct pid_list list = {0};
    EXPECT(waitpid(child, NULL, 0) == child);
    EXPECT(user_processes(somebody, &list) && list.count == 3);
    EXPECT(user_kill_round(somebody) == 3);
    for (int i = 0; i < 3; i++) EXPECT(waitpid(-1, NULL, 0) > 0);
    EXPECT(user_processes(somebody, &list) && list.count == 0);
    pid_list_free(&list);
  });
  return broken_claims;
}
