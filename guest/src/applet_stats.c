/* stats: what the sandbox uses, from its control group where it can see it, else summed over its processes. */
#include "applets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

static bool read_text(const char *path, char *text, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t length = read(fd, text, size - 1);
  close(fd);
  text[length > 0 ? length : 0] = 0;
  return length > 0;
}

static bool read_number(const char *path, long long *value) {
  char text[64];
  if (!read_text(path, text, sizeof text) || text[0] < '0' || text[0] > '9') return false;
  *value = atoll(text);
  return true;
}

struct usage {
  long long cpu_usec, memory_bytes, pids, first_start_ticks;
};

/* Fields of /proc/N/stat after the name: 12.. utime stime cutime cstime, 20 starttime, 22 rss. */
static void add_process(const char *name, struct usage *usage) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%.16s/stat", name);
  if (!read_text(path, text, sizeof text)) return;
  const char *after = strrchr(text, ')');
  long long utime, stime, cutime, cstime, start, rss;
  if (!after || sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld %*d %*d %*d %*d %lld %*u %lld",
                       &utime, &stime, &cutime, &cstime, &start, &rss) != 6) return;
  long ticks = sysconf(_SC_CLK_TCK);
  usage->cpu_usec += (utime + stime + cutime + cstime) * (1000000 / ticks);
  usage->memory_bytes += rss * sysconf(_SC_PAGESIZE);
  usage->pids++;
  if (!usage->first_start_ticks || start < usage->first_start_ticks) usage->first_start_ticks = start;
}

static struct usage sum_processes(void) {
  struct usage usage = {0};
  DIR *proc = opendir("/proc");
  for (struct dirent *entry; proc && (entry = readdir(proc));)
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') add_process(entry->d_name, &usage);
  if (proc) closedir(proc);
  return usage;
}

static long long memory_limit(void) {
  long long limit;
  if (read_number("/sys/fs/cgroup/memory.max", &limit)) return limit;
  /* Version 1 says "no limit" with a number near the largest there is. */
  if (read_number("/sys/fs/cgroup/memory/memory.limit_in_bytes", &limit) && limit < 1LL << 60) return limit;
  return 0;
}

int applet_stats(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "/";
  struct usage usage = sum_processes();
  long long value;
  char text[512];
  if (read_text("/sys/fs/cgroup/cpu.stat", text, sizeof text) && sscanf(text, "usage_usec %lld", &value) == 1) usage.cpu_usec = value;
  else if (read_number("/sys/fs/cgroup/cpuacct/cpuacct.usage", &value)) usage.cpu_usec = value / 1000;
  if (read_number("/sys/fs/cgroup/memory.current", &value) ||
      read_number("/sys/fs/cgroup/memory/memory.usage_in_bytes", &value)) usage.memory_bytes = value;
  struct statvfs disk;
  if (statvfs(path, &disk) != 0) return fail("cannot stat", path);
  struct timespec up;
  clock_gettime(CLOCK_BOOTTIME, &up);
  long long up_ms = up.tv_sec * 1000LL + up.tv_nsec / 1000000 - usage.first_start_ticks * 1000 / sysconf(_SC_CLK_TCK);
  unsigned long long block = disk.f_frsize;
  snprintf(text, sizeof text,
           "cpu_usec=%lld memory_bytes=%lld memory_limit=%lld pids=%lld disk_used=%llu disk_total=%llu uptime_ms=%lld",
           usage.cpu_usec, usage.memory_bytes, memory_limit(), usage.pids, (disk.f_blocks - disk.f_bfree) * block,
           disk.f_blocks * block, up_ms);
  put_string(text);
  return 0;
}
