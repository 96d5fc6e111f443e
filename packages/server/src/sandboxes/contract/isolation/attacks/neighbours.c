/* Neighbours: what one user of a packed sandbox tries against another one in it. Each takes the other's PID, UID or path. */
#include "attack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

/* A process that is hidden is as good as none; anything but these two answers is a way in. */
static bool is_hidden(long result) { return result < 0 && (errno == ENOENT || errno == EACCES || errno == EPERM || errno == ESRCH); }

/* see-neighbour PID: every file of it in /proc, and its number in a listing. That it exists, kill() tells anyhow. */
static int see_neighbour(int count, char **arguments) {
  (void)count;
  static const char *const FILES[] = {"environ", "cmdline", "comm",   "status", "stat",  "statm",   "maps",     "smaps",
                                      "mem",  "auxv",    "limits",  "cgroup", "io",     "sched", "syscall", "stack",    "wchan",
                                      "fd",   "fdinfo",  "task",    "ns",     "net",    "cwd",   "root",    "exe",      "mountinfo",
                                      "ns/pid", "fd/0",  "map_files", "oom_score_adj", "personality", "timerslack_ns", "clear_refs"};
  char path[PATH_MAX], target[PATH_MAX];
  for (size_t index = 0; index < sizeof FILES / sizeof *FILES; index++) {
    snprintf(path, sizeof path, "/proc/%s/%s", arguments[0], FILES[index]);
    if (!is_hidden(open(path, O_RDONLY | O_CLOEXEC))) return broken("%s was opened (%s)", path, strerror(errno));
    if (!is_hidden(open(path, O_WRONLY | O_CLOEXEC))) return broken("%s was opened for writing (%s)", path, strerror(errno));
    if (!is_hidden(open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC))) return broken("%s was found (%s)", path, strerror(errno));
    if (!is_hidden(readlink(path, target, sizeof target))) return broken("%s was read as a link (%s)", path, strerror(errno));
  }
  snprintf(path, sizeof path, "/proc/%s", arguments[0]);
  struct stat status;
  if (!is_hidden(stat(path, &status)) || !is_hidden(open(path, O_RDONLY | O_DIRECTORY))) return broken("%s was opened", path);
  int found = open(path, O_PATH | O_DIRECTORY);
  if (found >= 0 && !is_hidden(openat(found, "status", O_RDONLY))) return broken("%s was opened from within", path);
  DIR *proc = opendir("/proc");
  if (proc == NULL) return unable("/proc: %s", strerror(errno));
  int seen = 0;
  for (struct dirent *entry; (entry = readdir(proc)) != NULL;) {
    if (strcmp(entry->d_name, arguments[0]) == 0) return broken("%s is listed in /proc", arguments[0]);
    if (atoi(entry->d_name) <= 0) continue;
    seen++;
    snprintf(path, sizeof path, "/proc/%s", entry->d_name);
    if (stat(path, &status) == 0 && status.st_uid != getuid()) return broken("%s of uid %u is listed in /proc", path, status.st_uid);
  }
  return seen > 0 ? held("%d processes are listed, all its own", seen) : unable("not even itself is listed");
}

/* signal-neighbour PID: by every call that sends one. It must exist for that: ESRCH would prove nothing. */
static int signal_neighbour(int count, char **arguments) {
  (void)count;
  pid_t pid = atoi(arguments[0]);
  int handle = (int)syscall(SYS_pidfd_open, pid, 0);
  for (int number = 0; number <= 64; number++) {
    siginfo_t info = {.si_signo = number, .si_code = SI_QUEUE};
    union sigval value = {.sival_int = 1};
    if (kill(pid, number) == 0 || errno != EPERM) return broken("kill %d: %s", number, strerror(errno));
    if (number > 0 && (sigqueue(pid, number, value) == 0 || errno != EPERM)) return broken("sigqueue %d: %s", number, strerror(errno));
    if (syscall(SYS_tgkill, pid, pid, number) == 0 || errno != EPERM) return broken("tgkill %d: %s", number, strerror(errno));
    if (syscall(SYS_tkill, pid, number) == 0 || errno != EPERM) return broken("tkill %d: %s", number, strerror(errno));
    if (syscall(SYS_rt_tgsigqueueinfo, pid, pid, number, &info) == 0) return broken("rt_tgsigqueueinfo %d", number);
    if (handle >= 0 && (syscall(SYS_pidfd_send_signal, handle, number, NULL, 0) == 0 || errno != EPERM))
      return broken("pidfd_send_signal %d: %s", number, strerror(errno));
  }
  if (killpg(getpgid(pid), SIGTERM) == 0) return broken("its group took a signal");
  return handle >= 0 ? held("every signal, by every way, was refused") : unable("pidfd_open: %s", strerror(errno));
}

/* Whose input arrives when a descriptor is ready can be pointed at another process: F_SETOWN, then SIGIO. */
static long send_by_descriptor(pid_t pid) {
  int ends[2];
  if (pipe(ends) != 0) return 0;
  if (fcntl(ends[0], F_SETOWN, pid) != 0) return -1;
  if (fcntl(ends[0], F_SETSIG, SIGKILL) != 0 || fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK) != 0) return -1;
  /* The kernel checks the sender only now, and says nothing; the caller looks whether the neighbour lives. */
  if (write(ends[1], "!", 1) != 1) return 0;
  errno = EPERM;
  return -1;
}

/* touch-neighbour PID WAY */
static int touch_neighbour(int count, char **arguments) {
  (void)count;
  pid_t pid = atoi(arguments[0]);
  const char *way = arguments[1];
  char byte = 0;
  struct iovec local = {&byte, 1}, remote = {(void *)0x400000, 1};
  struct rlimit limit = {0, 0};
  struct sched_param idle = {0};
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  if (kill(pid, 0) == 0 || errno != EPERM) return unable("%d is no living process of another user: %s", pid, strerror(errno));
  if (strcmp(way, "ptrace") == 0) return expect_refusal(way, ptrace(PTRACE_ATTACH, pid, NULL, NULL));
  if (strcmp(way, "seize") == 0) return expect_refusal(way, ptrace(PTRACE_SEIZE, pid, NULL, NULL));
  if (strcmp(way, "vm-read") == 0) return expect_refusal(way, process_vm_readv(pid, &local, 1, &remote, 1, 0));
  if (strcmp(way, "vm-write") == 0) return expect_refusal(way, process_vm_writev(pid, &local, 1, &remote, 1, 0));
  if (strcmp(way, "prlimit") == 0) return expect_refusal(way, prlimit(pid, RLIMIT_NOFILE, &limit, NULL));
  if (strcmp(way, "prlimit-read") == 0) return expect_refusal(way, prlimit(pid, RLIMIT_NOFILE, NULL, &limit));
  if (strcmp(way, "priority") == 0) return expect_refusal(way, setpriority(PRIO_PROCESS, (id_t)pid, 19));
  if (strcmp(way, "priority-of-user") == 0) return expect_refusal(way, setpriority(PRIO_USER, (id_t)atoi(arguments[2]), 19));
  if (strcmp(way, "io-priority") == 0) return expect_refusal(way, syscall(SYS_ioprio_set, 1, pid, (3 << 13) | 7));
  if (strcmp(way, "affinity") == 0) return expect_refusal(way, sched_setaffinity(pid, sizeof one, &one));
  if (strcmp(way, "scheduler") == 0) return expect_refusal(way, sched_setscheduler(pid, SCHED_IDLE, &idle));
  if (strcmp(way, "descriptor-signal") == 0) return expect_refusal(way, send_by_descriptor(pid));
  if (strcmp(way, "compare") == 0) return expect_refusal(way, syscall(SYS_kcmp, getpid(), pid, 1, 0, 0));
  if (strcmp(way, "robust-list") == 0) {
    void *head;
    size_t size;
    return expect_refusal(way, syscall(SYS_get_robust_list, pid, &head, &size));
  }
  int handle = (int)syscall(SYS_pidfd_open, pid, 0);
  if (handle < 0) return unable("pidfd_open: %s", strerror(errno));
  if (strcmp(way, "descriptor") == 0) return expect_refusal(way, syscall(SYS_pidfd_getfd, handle, 0, 0));
  if (strcmp(way, "madvise") == 0) return expect_refusal(way, syscall(SYS_process_madvise, handle, &remote, 1, 21 /* MADV_PAGEOUT */, 0));
  return unable("no way is named %s", way);
}

/* become-neighbour UID: by every call that changes one. */
static int become_neighbour(int count, char **arguments) {
  (void)count;
  uid_t uid = (uid_t)strtoul(arguments[0], NULL, 10);
  gid_t groups[1] = {uid};
  if (setuid(uid) == 0 || setreuid(uid, uid) == 0 || setresuid(uid, uid, uid) == 0 || seteuid(uid) == 0) return broken("became %u", uid);
  if (setgid(uid) == 0 || setregid(uid, uid) == 0 || setresgid(uid, uid, uid) == 0) return broken("joined the group %u", uid);
  if (setgroups(1, groups) == 0) return broken("took the group %u", uid);
  setfsuid(uid);
  setfsgid(uid);
  if ((uid_t)setfsuid((uid_t)-1) == uid || (gid_t)setfsgid((gid_t)-1) == uid) return broken("opens files as %u", uid);
  if (getuid() == uid || geteuid() == uid || getgid() == uid) return broken("is %u", uid);
  return held("still %u", getuid());
}

/* open-terminal PATH */
static int open_terminal(int count, char **arguments) {
  (void)count;
  static const int MODES[] = {O_RDONLY, O_WRONLY, O_RDWR};
  struct stat status;
  if (stat(arguments[0], &status) != 0) return unable("%s: %s", arguments[0], strerror(errno));
  for (size_t index = 0; index < 3; index++) {
    int terminal = open(arguments[0], MODES[index] | O_NOCTTY | O_NONBLOCK);
    if (!is_refused(terminal)) return broken("%s was opened (%s)", arguments[0], strerror(errno));
  }
  if (!is_refused(chmod(arguments[0], 0666))) return broken("%s was opened to all", arguments[0]);
  return held("%s: %s", arguments[0], strerror(errno));
}

/* list-directory PATH: also through a descriptor that was only looked up. */
static int list_directory(int count, char **arguments) {
  (void)count;
  struct stat status;
  if (stat(arguments[0], &status) != 0 && errno != EACCES) return unable("%s: %s", arguments[0], strerror(errno));
  if (!is_refused(open(arguments[0], O_RDONLY | O_DIRECTORY))) return broken("%s was opened", arguments[0]);
  int found = open(arguments[0], O_PATH | O_DIRECTORY);
  char entries[4096];
  if (found >= 0 && syscall(SYS_getdents64, found, entries, sizeof entries) >= 0) return broken("%s was listed", arguments[0]);
  if (found >= 0 && !is_refused(openat(found, ".", O_RDONLY | O_DIRECTORY))) return broken("%s was opened from within", arguments[0]);
  return held("%s cannot be listed", arguments[0]);
}

/* change-directory PATH: make, move, remove, open to others or give away what is in it. */
static int change_directory(int count, char **arguments) {
  (void)count;
  char file[PATH_MAX], other[PATH_MAX];
  snprintf(file, sizeof file, "%s/of-the-attacker", arguments[0]);
  snprintf(other, sizeof other, "%s.moved", arguments[0]);
  if (!is_refused(open(file, O_CREAT | O_WRONLY, 0666))) return broken("made %s (%s)", file, strerror(errno));
  if (!is_refused(mkdir(file, 0777))) return broken("made the directory %s (%s)", file, strerror(errno));
  if (!is_refused(symlink("/etc", file))) return broken("made the link %s (%s)", file, strerror(errno));
  if (!is_refused(open(arguments[0], O_TMPFILE | O_WRONLY, 0666))) return broken("made a file without a name in %s (%s)", arguments[0], strerror(errno));
  if (!is_refused(rename(arguments[0], other))) return broken("moved %s (%s)", arguments[0], strerror(errno));
  if (!is_refused(rmdir(arguments[0]))) return broken("removed %s (%s)", arguments[0], strerror(errno));
  if (!is_refused(chmod(arguments[0], 0777))) return broken("opened %s (%s)", arguments[0], strerror(errno));
  if (!is_refused(chown(arguments[0], getuid(), getgid()))) return broken("took %s (%s)", arguments[0], strerror(errno));
  return held("%s stays as it is", arguments[0]);
}

const struct attack NEIGHBOUR_ATTACKS[] = {
    {"see-neighbour", see_neighbour, 1},       {"signal-neighbour", signal_neighbour, 1}, {"touch-neighbour", touch_neighbour, 2},
    {"become-neighbour", become_neighbour, 1}, {"open-terminal", open_terminal, 1},       {"list-directory", list_directory, 1},
    {"change-directory", change_directory, 1}, {NULL, NULL, 0},
};
