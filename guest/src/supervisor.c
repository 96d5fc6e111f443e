#include "supervisor.h"

#include "handover.h"
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Where a supervisor's descriptors lie; below them is /dev/null, as in the guest. */
enum place { CONTROL = 3, SELF, INPUT, OUTPUT, ERRORS };

/* Written by the vforked child, which shares our memory until it has become the program. */
static volatile struct { uint8_t step; int error; } failure;

static pid_t main_pid;
static bool main_is_running, is_end_untold;
static int main_status;
static uint32_t killed_count;

/* Nobody hears it when the guest is gone; the tree is then killed all the same. */
static void tell(int control, const struct report *report) {
  if (send(control, report, sizeof *report, MSG_NOSIGNAL) < 0) return;
}

static const char *variable(char *const *env, const char *name) {
  size_t length = strlen(name);
  for (; *env; env++)
    if (strncmp(*env, name, length) == 0 && (*env)[length] == '=') return *env + length + 1;
  return NULL;
}

/* execve along PATH as the program's own environment gives it. Returns only on failure, with errno. */
static void execute_along_path(const struct program *program) {
  const char *name = program->argv[0];
  if (strchr(name, '/')) {
    execve(name, program->argv, program->env);
    return;
  }
  const char *path = variable(program->env, "PATH");
  int worst = ENOENT;
  for (const char *part = path ? path : "/usr/local/bin:/usr/bin:/bin"; part;) {
    const char *colon = strchr(part, ':');
    size_t length = colon ? (size_t)(colon - part) : strlen(part);
    char full[PATH_MAX];
    int written = snprintf(full, sizeof full, "%.*s/%s", (int)length, length ? part : ".", name);
    if (written > 0 && (size_t)written < sizeof full) {
      execve(full, program->argv, program->env);
      if (errno == EACCES) worst = EACCES;
      else if (errno != ENOENT && errno != ENOTDIR) return;
    }
    part = colon ? colon + 1 : NULL;
  }
  errno = worst;
}

static bool fail(uint8_t step) {
  failure.step = step;
  failure.error = errno;
  return false;
}

static bool become_user(const struct program *program) {
  if (!program->changes_user) return true;
  return setgroups(1, &program->gid) == 0 && setresgid(program->gid, program->gid, program->gid) == 0 &&
         setresuid(program->uid, program->uid, program->uid) == 0;
}

/*
 * In a packed sandbox the kernel is to end a program when memory is out, and never the guest or a supervisor, with whom the
 * neighbours would end too. Where /proc is read-only it goes by size, as everywhere.
 */
static void offer_to_oom_killer(void) {
  int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  ssize_t written = write(file, "500", 3);
  (void)written;
  close(file);
}

/* The vforked child. Async-signal-safe calls only; on failure it leaves a note and exits. */
static bool become_program(const struct program *program) {
  setsid();
  if (dup2(program->input, 0) < 0 || dup2(program->output, 1) < 0 || dup2(program->errors, 2) < 0) return fail(STEP_FORK);
  syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC);
  if (program->has_terminal && ioctl(0, TIOCSCTTY, 0) != 0) return fail(STEP_TERMINAL);
  if (program->max_processes) offer_to_oom_killer();
  const struct rlimit processes = {program->max_processes, program->max_processes};
  if (program->max_processes && setrlimit(RLIMIT_NPROC, &processes) != 0) return fail(STEP_RLIMIT);
  for (int i = 0; i < program->rlimit_count; i++)
    if (setrlimit((__rlimit_resource_t)program->rlimits[i].resource, &program->rlimits[i].limit) != 0)
      return fail(STEP_RLIMIT);
  if (!become_user(program)) return fail(STEP_USER);
  if (chdir(program->cwd) != 0) return fail(STEP_CWD);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  if (program->is_self) syscall(SYS_execveat, SELF, "", program->argv, program->env, AT_EMPTY_PATH);
  else execute_along_path(program);
  return fail(STEP_EXEC);
}

static int64_t now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Collects the dead. False once the kernel says that no child is left at all; otherwise the end of the main process is told at once. */
static bool reap(int control) {
  int status;
  pid_t pid;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    if (pid != main_pid || !main_is_running) continue;
    main_is_running = false;
    main_status = status;
    is_end_untold = true;
  }
  bool any_left = pid == 0;
  if (any_left && is_end_untold) {
    struct report report = {.kind = REPORT_EXITED, .status = main_status, .survivors = true};
    tell(control, &report);
    is_end_untold = false;
  }
  return any_left;
}

/* Returns how many processes there were; signal 0 only counts them. */
static uint32_t signal_tree(int signal) {
  struct pid_list list = {0};
  tree_descendants(getpid(), NULL, &list);
  for (size_t i = 0; i < list.count; i++) kill(list.pids[i], signal);
  uint32_t count = (uint32_t)list.count;
  pid_list_free(&list);
  return count;
}

static void wait_for_child(int signals, int timeout_ms) {
  struct pollfd poll_fd = {.fd = signals, .events = POLLIN};
  if (poll(&poll_fd, 1, timeout_ms) > 0) {
    struct signalfd_siginfo info;
    if (read(signals, &info, sizeof info) < 0) return;
  }
}

/* SIGTERM, the grace, then SIGKILL round after round until the kernel says that no child is left. Counts all that ended by it. */
static void kill_tree(int control, int signals, uint32_t grace_ms) {
  if (grace_ms > 0) {
    uint32_t asked = signal_tree(SIGTERM);
    signal_tree(SIGCONT);
    for (int64_t end = now_ms() + grace_ms, left; (left = end - now_ms()) > 0;) {
      if (!reap(control)) {
        killed_count += asked;
        return;
      }
      wait_for_child(signals, (int)left);
    }
    uint32_t deaf = signal_tree(0);
    if (asked > deaf) killed_count += asked - deaf;
  }
  /* A process that the kernel has not taken away yet is found by the next round too, so rounds are not added up. */
  uint32_t most = 0;
  while (reap(control)) {
    uint32_t found = (uint32_t)tree_kill_round(getpid(), NULL);
    if (found > most) most = found;
    wait_for_child(signals, 2);
  }
  killed_count += most;
}

static void obey(int control, int signals, const struct order *order) {
  switch (order->kind) {
    case ORDER_SIGNAL_MAIN: if (main_is_running) kill(main_pid, order->signal); break;
    case ORDER_SIGNAL_TREE: signal_tree(order->signal); break;
    case ORDER_KILL: kill_tree(control, signals, order->grace_ms); break;
    default: break;
  }
}

static pid_t start(const struct program *program) {
  pid_t pid = vfork();
  if (pid == 0) {
    become_program(program);
    _exit(127);
  }
  if (pid < 0) fail(STEP_FORK);
  return pid;
}

/* Puts what is needed at its place and closes everything else that came from the guest, whose descriptors all lie above. */
static void keep_only(struct program *program, int control, int self) {
  dup2(control, CONTROL);
  dup2(self, SELF);
  dup2(program->input, INPUT);
  dup2(program->output, OUTPUT);
  dup2(program->errors, ERRORS);
  syscall(SYS_close_range, ERRORS + 1u, ~0u, 0);
  program->input = INPUT;
  program->output = OUTPUT;
  program->errors = ERRORS;
}

/* One program, from its start until nothing is left of its tree. */
static void run(const struct program *program, int control, int signals) {
  killed_count = 0;
  main_pid = start(program);
  if (main_pid < 0 || failure.error != 0) {
    struct report report = {.kind = REPORT_FAILED, .step = failure.step, .error = failure.error};
    if (main_pid > 0) waitpid(main_pid, NULL, 0);
    tell(control, &report);
    _exit(0);
  }
  main_is_running = true;
  struct report report = {.kind = REPORT_STARTED, .pid = main_pid};
  tell(control, &report);
  /* The program's ends of the pipes are the program's alone now; ours would keep them from ever closing. */
  close(program->input);
  close(program->output);
  close(program->errors);
  /* And so is its environment: what comes next may be another user's. */
  explicit_bzero(program->block, program->block_size);

  while (reap(control)) {
    struct pollfd wait[2] = {{.fd = control, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    if (poll(wait, 2, -1) < 0) continue;
    if (wait[1].revents) {
      struct signalfd_siginfo info;
      if (read(signals, &info, sizeof info) < 0 && errno != EAGAIN) _exit(1);
    }
    struct order order;
    if (wait[0].revents & POLLIN && recv(control, &order, sizeof order, 0) == (ssize_t)sizeof order)
      obey(control, signals, &order);
    else if (wait[0].revents & (POLLHUP | POLLERR)) kill_tree(control, signals, 0);
  }
  /* The last word about this program, and one message where its end is also the tree's. */
  report = (struct report){
    .kind = is_end_untold ? REPORT_EXITED : REPORT_EMPTY, .status = main_status, .killed = killed_count,
  };
  is_end_untold = false;
  tell(control, &report);
}

_Noreturn void supervise(const struct program *first, int control, int self) {
  struct program program = *first;
  keep_only(&program, control, self);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_NAME, "supervisor");
  setpgid(0, 0);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGCHLD);
  sigprocmask(SIG_BLOCK, &mask, NULL);
  int signals = signalfd(-1, &mask, SFD_CLOEXEC);
  signal(SIGPIPE, SIG_DFL);
  do run(&program, CONTROL, signals);
  while (handover_receive(CONTROL, &program));
  _exit(0);
}
