/* See mount-point.h. */
#define _GNU_SOURCE
#include "mount-point.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "report.h"

int mount_point_make(int parent, const char *name, bool directory) {
  return directory ? mkdirat(parent, name, 0755) : mknodat(parent, name, S_IFREG | 0644, 0);
}

/* One step down, never through a symbolic link: what lies there may have been arranged by a program in a sandbox. */
static int step_into(int parent, const char *name, int flags) {
  struct open_how how = {.flags = (unsigned long long)(unsigned)(flags | O_CLOEXEC), .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
  return (int)syscall(SYS_openat2, parent, name, &how, sizeof how);
}

int mount_point_open_below(int root, const char *relative, bool directory) {
  char path[4096];
  if (strlen(relative) >= sizeof path) fail("mount", "the mount target %s is too long", relative);
  strcpy(path, relative);
  int at = root < 0 ? -1 : openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  for (char *name = strtok(path, "/"), *following; name != NULL && at >= 0; name = following) {
    following = strtok(NULL, "/");
    bool wants_directory = directory || following != NULL;
    int flags = wants_directory ? O_PATH | O_DIRECTORY : O_PATH;
    int next = step_into(at, name, flags);
    if (next < 0 && errno == ENOENT && mount_point_make(at, name, wants_directory) == 0) {
      struct stat parent;
      next = step_into(at, name, flags);
      /* Without the right to give it away, as in a user namespace, it already belongs to the only user there is. */
      if (next >= 0 && wants_directory && fstat(at, &parent) == 0 && fchownat(next, "", parent.st_uid, parent.st_gid, AT_EMPTY_PATH) != 0 && errno != EPERM) {
        fail("mount", "cannot give away the mount point %s: %s", relative, strerror(errno));
      }
    }
    int error = errno;
    close(at);
    errno = error;
    at = next;
  }
  if (at < 0) fail("mount", "cannot make the mount point %s inside another mount: %s", relative, errno == ELOOP ? "a symbolic link is in its way" : strerror(errno));
  return at;
}
