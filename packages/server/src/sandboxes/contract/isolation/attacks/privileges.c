/* Privileges: become root, gain a capability, leave a namespace, reach the dangerous parts of the kernel. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int identify(int count, char **arguments) {
  (void)count, (void)arguments;
  uid_t users[3];
  gid_t groups[3], extra[64];
  if (getresuid(&users[0], &users[1], &users[2]) < 0 || getresgid(&groups[0], &groups[1], &groups[2]) < 0) return unable("who am i");
  for (int index = 0; index < 3; index++) {
    if (users[index] == 0 || groups[index] == 0) return broken("user %u, group %u", users[index], groups[index]);
    if (users[index] != users[0] || groups[index] != groups[0]) return broken("user ids or group ids differ");
  }
  int size = getgroups(64, extra);
  for (int index = 0; index < size; index++) {
    if (extra[index] == 0) return broken("group 0 is among the supplementary groups");
  }
  return held("user %u, group %u", users[0], groups[0]);
}

/* EINVAL: there is no such user in this namespace to become. */
static bool is_not_given(long result) { return is_refused(result) || (result < 0 && errno == EINVAL); }

static int become_root(int count, char **arguments) {
  (void)count, (void)arguments;
  gid_t root_group = 0;
  if (!is_not_given(setresuid(0, 0, 0))) return broken("setresuid");
  if (!is_not_given(setresgid(0, 0, 0))) return broken("setresgid");
  if (!is_not_given(setgroups(1, &root_group))) return broken("setgroups");
  if (!is_not_given(setreuid((uid_t)-1, 0))) return broken("setreuid");
  return held("%s", strerror(errno));
}

/* The ways into a new namespace: unshare, clone, clone3. The namespace's flag comes as a number. */
static long namespace_flag;
static long try_unshare(void) { return syscall(SYS_unshare, namespace_flag); }
static long leave_child(long child) {
  if (child == 0) _exit(0);
  return child;
}
static long try_clone(void) { return leave_child(syscall(SYS_clone, namespace_flag | SIGCHLD, NULL, NULL, NULL, NULL)); }
static long try_clone3(void) {
  struct clone_args request = {.flags = (unsigned long long)namespace_flag, .exit_signal = SIGCHLD};
  return leave_child(syscall(SYS_clone3, &request, sizeof request));
}

/* enter-namespace NAME */
static int enter_namespace(int count, char **arguments) {
  (void)count;
  const struct {
    const char *name;
    long flag;
  } kinds[] = {{"user", CLONE_NEWUSER}, {"mount", CLONE_NEWNS},   {"pid", CLONE_NEWPID},          {"network", CLONE_NEWNET},
               {"ipc", CLONE_NEWIPC},   {"host name", CLONE_NEWUTS}, {"control group", CLONE_NEWCGROUP}, {"time", CLONE_NEWTIME}};
  for (size_t index = 0; index < sizeof kinds / sizeof *kinds; index++) {
    if (strcmp(kinds[index].name, arguments[0]) != 0) continue;
    namespace_flag = kinds[index].flag;
    /* The time namespace's flag lies in clone's exit-signal bits, so the old call cannot ask for it. */
    bool old_clone_knows = namespace_flag != CLONE_NEWTIME;
    if (in_child("unshare", try_unshare) != EXIT_HELD) return EXIT_BROKEN;
    if (old_clone_knows && in_child("clone", try_clone) != EXIT_HELD) return EXIT_BROKEN;
    return in_child("clone3", try_clone3);
  }
  return unable("no namespace is named %s", arguments[0]);
}

static int join_namespaces(int count, char **arguments) {
  (void)count, (void)arguments;
  const char *const names[] = {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"};
  for (size_t index = 0; index < sizeof names / sizeof *names; index++) {
    char path[64];
    snprintf(path, sizeof path, "/proc/1/ns/%s", names[index]);
    int opened = open(path, O_RDONLY);
    if (opened >= 0 && !is_refused(setns(opened, 0))) return broken("setns %s: %s", path, strerror(errno));
    if (opened >= 0) close(opened);
  }
  return held("%s", strerror(errno));
}

static long call_keyctl(void) { return syscall(SYS_keyctl, 0 /* KEYCTL_GET_KEYRING_ID */, -3, 1); }
static long call_add_key(void) { return syscall(SYS_add_key, "user", "attack", "x", 1, -3); }
static long call_bpf(void) {
  union bpf_attr map;
  memset(&map, 0, sizeof map);
  map.map_type = BPF_MAP_TYPE_ARRAY, map.key_size = 4, map.value_size = 4, map.max_entries = 1;
  return syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof map);
}
static long call_perf(void) {
  struct perf_event_attr event;
  memset(&event, 0, sizeof event);
  event.type = PERF_TYPE_SOFTWARE, event.size = sizeof event, event.config = PERF_COUNT_SW_CPU_CLOCK, event.exclude_kernel = 1;
  return syscall(SYS_perf_event_open, &event, 0, -1, -1, 0);
}
static long call_userfaultfd(void) { return syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* UFFD_USER_MODE_ONLY */); }
static long call_io_uring(void) {
  char parameters[120] = {0};
  return syscall(SYS_io_uring_setup, 4, parameters);
}
static long call_reboot(void) { return syscall(SYS_reboot, 0, 0, 0, NULL); /* wrong magic: harmless even for root */ }
static long call_kexec(void) { return syscall(SYS_kexec_load, 0, 0, NULL, 0); }
static long call_init_module(void) { return syscall(SYS_init_module, NULL, 0, ""); }
static long call_swapon(void) { return syscall(SYS_swapon, "/dev/null", 0); }
static long call_acct(void) { return syscall(SYS_acct, "/dev/null"); }
static long call_sethostname(void) { return syscall(SYS_sethostname, "attacked", 8); }
static long call_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return clock_settime(CLOCK_REALTIME, &now);
}
static long call_realtime(void) {
  struct sched_param first = {.sched_priority = 50};
  return sched_setscheduler(0, SCHED_FIFO, &first);
}
static long call_nice(void) { return setpriority(PRIO_PROCESS, 0, -20); }
static long call_limits(void) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_max++;
  return setrlimit(RLIMIT_NOFILE, &limit);
}
#ifdef __x86_64__
static long call_iopl(void) { return syscall(SYS_iopl, 3); }
static long as_errno(long result) {
  if (result < 0) errno = (int)-result;
  return result < 0 ? -1 : result;
}
/* The 32-bit door: the same calls under other numbers. A filter that forgets it filters nothing. */
static long old_door(long number, long first, long second) {
  long result = 0;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(first), "c"(second), "d"(0L) : "memory", "cc");
  return as_errno((long)(int)result);
}
static long call_unshare32(void) { return old_door(310, CLONE_NEWUSER, 0); }
static long call_keyctl32(void) { return old_door(288, 0, -3); }
static long call_bpf32(void) { return old_door(357, 999, 0); }
static long call_io_uring32(void) { return old_door(425, 4, 0); }
static long call_unshare_x32(void) { return syscall(SYS_unshare | 0x40000000, CLONE_NEWUSER); }
static long call_keyctl_x32(void) { return syscall(SYS_keyctl | 0x40000000, 0, -3, 1); }
#endif

static const struct {
  const char *name;
  long (*call)(void);
} CALLS[] = {
    {"keyctl", call_keyctl}, {"add_key", call_add_key}, {"bpf", call_bpf}, {"perf_event_open", call_perf},
    {"userfaultfd", call_userfaultfd}, {"io_uring_setup", call_io_uring}, {"reboot", call_reboot}, {"kexec_load", call_kexec},
    {"init_module", call_init_module}, {"swapon", call_swapon}, {"acct", call_acct}, {"sethostname", call_sethostname},
    {"clock_settime", call_clock}, {"sched_setscheduler", call_realtime}, {"setpriority", call_nice}, {"setrlimit", call_limits},
#ifdef __x86_64__
    {"iopl", call_iopl}, {"unshare through the 32-bit door", call_unshare32}, {"keyctl through the 32-bit door", call_keyctl32},
    {"bpf through the 32-bit door", call_bpf32}, {"io_uring_setup through the 32-bit door", call_io_uring32},
    {"unshare through the x32 door", call_unshare_x32}, {"keyctl through the x32 door", call_keyctl_x32},
#endif
};

/* call NAME */
static int call_kernel(int count, char **arguments) {
  (void)count;
  for (size_t index = 0; index < sizeof CALLS / sizeof *CALLS; index++) {
    if (strcmp(CALLS[index].name, arguments[0]) == 0) return in_child(CALLS[index].name, CALLS[index].call);
  }
#ifndef __x86_64__
  if (strstr(arguments[0], "door") != NULL || strcmp(arguments[0], "iopl") == 0) return held("this processor has no such door");
#endif
  return unable("no call is named %s", arguments[0]);
}

/* Pushes a keystroke into every terminal that came with the process: the host's, if one had leaked in. */
static int type_into_terminal(int count, char **arguments) {
  (void)count, (void)arguments;
  for (int descriptor = 0; descriptor <= 2; descriptor++) {
    if (ioctl(descriptor, TIOCSTI, "x") == 0) return broken("descriptor %d took a keystroke", descriptor);
  }
  int terminal = open("/dev/tty", O_RDWR);
  if (terminal >= 0) return broken("/dev/tty is somebody's terminal");
  return held("%s", strerror(errno));
}

static int map_null_page(int count, char **arguments) {
  (void)count, (void)arguments;
  personality(MMAP_PAGE_ZERO | READ_IMPLIES_EXEC);
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  return page == MAP_FAILED ? held("%s", strerror(errno)) : broken("the null page was mapped");
}

const struct attack PRIVILEGE_ATTACKS[] = {
    {"identify", identify, 0},
    {"become-root", become_root, 0},
    {"enter-namespace", enter_namespace, 1},
    {"join-namespaces", join_namespaces, 0},
    {"call", call_kernel, 1},
    {"type-into-terminal", type_into_terminal, 0},
    {"map-null-page", map_null_page, 0},
    {NULL, NULL, 0},
};
