/* `attack NAME ARGUMENTS…`: finds the attack of that name, makes it, and says how it went. */
#include "attack.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *verdict, const char *format, va_list arguments) {
  printf("%s: ", verdict);
  vprintf(format, arguments);
  printf("\n");
  fflush(stdout);
}

#define DEFINE_VERDICT(name, status)           \
  int name(const char *format, ...) {          \
    va_list arguments;                         \
    va_start(arguments, format);               \
    say(#name, format, arguments);             \
    va_end(arguments);                         \
    return status;                             \
  }

DEFINE_VERDICT(held, EXIT_HELD)
DEFINE_VERDICT(broken, EXIT_BROKEN)
DEFINE_VERDICT(unable, EXIT_UNABLE)

bool is_refused(long result) {
  if (result >= 0) return false;
  return errno == EPERM || errno == EACCES || errno == ENOSYS || errno == EROFS;
}

int expect_refusal(const char *what, long result) {
  int reason = errno;
  if (is_refused(result)) return held("%s: %s", what, strerror(reason));
  if (result >= 0) return broken("%s succeeded", what);
  return broken("%s was not refused but failed with %s", what, strerror(reason));
}

int in_child(const char *what, long (*attempt)(void)) {
  fflush(stdout);
  pid_t child = fork();
  if (child < 0) return unable("fork: %s", strerror(errno));
  if (child == 0) {
    long result = attempt();
    _exit(is_refused(result) ? EXIT_HELD : result >= 0 ? EXIT_BROKEN : EXIT_UNABLE);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return unable("waitpid: %s", strerror(errno));
  if (WIFSIGNALED(status)) return held("%s: killed by signal %d", what, WTERMSIG(status));
  if (WEXITSTATUS(status) == EXIT_HELD) return held("%s was refused", what);
  return broken("%s was not refused", what);
}

bool file_contains(int descriptor, const char *needle) {
  static char content[1 << 20];
  size_t size = 0;
  while (size < sizeof content) {
    ssize_t count = read(descriptor, content + size, sizeof content - size);
    if (count <= 0) break;
    size += (size_t)count;
  }
  return memmem(content, size, needle, strlen(needle)) != NULL;
}

int main(int count, char **arguments) {
  const struct attack *surfaces[] = {NETWORK_ATTACKS, FILESYSTEM_ATTACKS, MOUNT_ATTACKS,    PROCESS_ATTACKS,
                                     ESCAPE_ATTACKS,  PRIVILEGE_ATTACKS,  RESOURCE_ATTACKS, GUEST_ATTACKS,
                                     NEIGHBOUR_ATTACKS, FILTER_ATTACKS,     QUEUE_ATTACKS,    WORKSPACE_ATTACKS,
                                     COUNT_ATTACKS};
  if (count < 2) return unable("usage: attack NAME ARGUMENTS…");
  for (size_t surface = 0; surface < sizeof surfaces / sizeof *surfaces; surface++) {
    for (const struct attack *attack = surfaces[surface]; attack->name != NULL; attack++) {
      if (strcmp(attack->name, arguments[1]) != 0) continue;
      if (count - 2 < attack->least_arguments) return unable("%s needs %d arguments", attack->name, attack->least_arguments);
      return attack->run(count - 2, arguments + 2);
    }
  }
  return unable("no attack is named %s", arguments[1]);
}
