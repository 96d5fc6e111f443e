/*
 * Resources: take everything there is, so that others get nothing.
 *
 * Each says "held: full" when it met its first limit and then keeps what it took until it is killed, so that the
 * neighbour is asked while the attack is at its worst.
 */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <linux/falloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int fork_bomb(int count, char **arguments) {
  (void)count, (void)arguments;
  pid_t first = getpid();
  bool is_full = false;
  /* Children end with the bomb's group only; nothing but a kill of the tree stops it. */
  signal(SIGTERM, SIG_IGN);
  for (;;) {
    pid_t child = fork();
    if (child >= 0 || is_full) continue;
    is_full = true;
    if (getpid() == first) held("full: %s", strerror(errno));
  }
  return EXIT_UNABLE;
}

/* memory-bomb PROCESSES: each touches pages until it is stopped. */
static int memory_bomb(int count, char **arguments) {
  (void)count;
  for (int index = 1; index < atoi(arguments[0]); index++) {
    if (fork() == 0) break;
  }
  for (;;) {
    const size_t step = 1 << 20;
    char *taken = mmap(NULL, step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (taken != MAP_FAILED) memset(taken, 1, step);
  }
  return EXIT_UNABLE;
}

static char writable[64][PATH_MAX];
static int writable_count;

static int collect_writable(const char *path, const struct stat *status, int kind, struct FTW *place) {
  (void)kind, (void)place;
  if (strcmp(path, "/proc") == 0 || strcmp(path, "/sys") == 0 || strcmp(path, "/usr") == 0) return FTW_SKIP_SUBTREE;
  if (!S_ISDIR(status->st_mode) || access(path, W_OK) < 0) return FTW_CONTINUE;
  if (writable_count < 64) snprintf(writable[writable_count++], PATH_MAX, "%s", path);
  return FTW_SKIP_SUBTREE;
}

/* Until the disk is full or `limit` is passed; returns the bytes written. */
static uint64_t fill_file(int file, uint64_t limit) {
  static char block[1 << 20];
  memset(block, 'x', sizeof block);
  uint64_t total = 0;
  while (total <= limit) {
    ssize_t written = write(file, block, sizeof block);
    if (written <= 0) break;
    total += (uint64_t)written;
  }
  return total;
}

/* fill-disk LIMIT_BYTES: every directory that may be written, wherever it is; none may take more than the limit. */
static int fill_disk(int count, char **arguments) {
  (void)count;
  uint64_t limit = strtoull(arguments[0], NULL, 10);
  nftw("/", collect_writable, 64, FTW_PHYS | FTW_ACTIONRETVAL);
  if (writable_count == 0) return unable("no directory can be written");
  for (int index = 0; index < writable_count; index++) {
    char path[PATH_MAX + 8];
    stpcpy(stpcpy(path, writable[index]), "/filler");
    int file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    if (file < 0) continue;
    uint64_t size = fill_file(file, limit);
    int reason = errno;
    close(file);
    if (size > limit) return broken("%s took %llu bytes", writable[index], (unsigned long long)size);
    printf("filled %s with %llu bytes: %s\n", writable[index], (unsigned long long)size, strerror(reason));
    /* One at a time: together they may be more than the memory limit, which is another proof. */
    if (strcmp(arguments[1], "keep") != 0) unlink(path);
  }
  return held("full");
}

/* descriptor-flood LIMIT: no more than LIMIT in one process, then the same in as many processes as there may be. */
static int descriptor_flood(int count, char **arguments) {
  (void)count;
  int limit = atoi(arguments[0]);
  int opened = 0;
  while (opened <= limit + 8 && open("/dev/null", O_RDONLY) >= 0) opened++;
  if (opened > limit) return broken("%d descriptors were opened", opened);
  signal(SIGCHLD, SIG_IGN);
  for (;;) {
    pid_t child = fork();
    if (child < 0) break;
    if (child == 0) {
      for (int number = 3; number < limit; number++) close(number);
      int ends[2];
      while (pipe(ends) == 0 && write(ends[1], "x", 1) == 1) {
      }
      pause();
      _exit(0);
    }
  }
  held("full: %d descriptors each", opened);
  for (;;) pause();
}

/* output-flood BYTES */
static int output_flood(int count, char **arguments) {
  (void)count;
  static char block[1 << 16];
  memset(block, 'x', sizeof block);
  uint64_t left = strtoull(arguments[0], NULL, 10);
  while (left > 0) {
    size_t size = left < sizeof block ? (size_t)left : sizeof block;
    ssize_t written = write(STDOUT_FILENO, block, size);
    if (written < 0) return EXIT_UNABLE;
    left -= (uint64_t)written;
  }
  return EXIT_HELD;
}

/* spin PROCESSES */
static int spin(int count, char **arguments) {
  (void)count;
  for (int index = 1; index < atoi(arguments[0]); index++) {
    if (fork() == 0) break;
  }
  held("full");
  for (volatile unsigned turn = 0;; turn++) {
  }
  return EXIT_UNABLE;
}

static int64_t space_of(int file) {
  struct stat status;
  return fstat(file, &status) < 0 ? -1 : (int64_t)status.st_blocks;
}

/* reserve-space DIRECTORY: every way to have space there without writing. What is written, and what gives space back, must work. */
static int reserve_space(int count, char **arguments) {
  (void)count;
  const int64_t size = 1 << 20;
  const int modes[] = {0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_ZERO_RANGE, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, FALLOC_FL_UNSHARE_RANGE,
                       0x80 /* FALLOC_FL_WRITE_ZEROES */};
  const unsigned words[] = {10, 36, 40, 42, 57};
  struct {
    int16_t type, whence;
    int64_t start, length;
    int32_t system;
    uint32_t process;
    int32_t unused[4];
  } wish = {.length = size};
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/reserved", arguments[0]);
  int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || unlink(path) < 0 || space_of(file) != 0) return unable("make %s: %s", path, strerror(errno));
  for (size_t index = 0; index < sizeof modes / sizeof *modes; index++) {
    if (fallocate(file, modes[index], 0, size) == 0 || errno != EOPNOTSUPP || space_of(file) != 0)
      return broken("fallocate %#x left %lld blocks: %s", modes[index], (long long)space_of(file), strerror(errno));
  }
  for (size_t index = 0; index < sizeof words / sizeof *words; index++) {
    if (ioctl(file, _IOC(_IOC_WRITE, 'X', words[index], sizeof wish), &wish) == 0 || errno != EOPNOTSUPP || space_of(file) != 0)
      return broken("ioctl %u left %lld blocks: %s", words[index], (long long)space_of(file), strerror(errno));
  }
  int failed = posix_fallocate(file, 0, size);
  if (failed || space_of(file) < size / 512) return broken("the C library does not write instead: %s", strerror(failed));
  if (fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, size) < 0) return broken("nothing can be given back: %s", strerror(errno));
  return space_of(file) == 0 ? held("nothing but what was written") : broken("what was given back is still there");
}

const struct attack RESOURCE_ATTACKS[] = {
    {"fork-bomb", fork_bomb, 0},
    {"memory-bomb", memory_bomb, 1},
    {"fill-disk", fill_disk, 2},
    {"descriptor-flood", descriptor_flood, 1},
    {"output-flood", output_flood, 1},
    {"spin", spin, 1},
    {"reserve-space", reserve_space, 1},
    {NULL, NULL, 0},
};
