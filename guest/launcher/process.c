/* See process.h. */
#define _GNU_SOURCE
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "descriptor.h"
#include "report.h"

static ssize_t read_small_file(const char *path, char *buffer, size_t size) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t length = read(file, buffer, size - 1);
  close(file);
  if (length >= 0) buffer[length] = '\0';
  return length;
}

unsigned long long process_starttime(pid_t pid) {
  char path[64];
  char text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  if (read_small_file(path, text, sizeof text) <= 0) return 0;
  /* The name in field 2 may hold spaces and parentheses, so count from the last one: field 3 follows it. */
  char *at = strrchr(text, ')');
  if (at == NULL) return 0;
  for (int field = 2; field < 22; field++) {
    at = strchr(at + 1, ' ');
    if (at == NULL) return 0;
  }
  return strtoull(at + 1, NULL, 10);
}

pid_t process_only_child(pid_t parent) {
  char path[96];
  char text[256];
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
  if (read_small_file(path, text, sizeof text) <= 0) return 0;
  return (pid_t)strtol(text, NULL, 10);
}

int record_open(int state_directory) {
  int record = openat(state_directory, "processes", O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
  if (record < 0) fail("record", "cannot write the process record: %s", strerror(errno));
  return raise_descriptor(record);
}

unsigned long long record_process(int record, const char *role, pid_t pid) {
  char line[96];
  unsigned long long starttime = process_starttime(pid);
  int length = snprintf(line, sizeof line, "%s %d %llu\n", role, (int)pid, starttime);
  if (write(record, line, (size_t)length) != length) fail("record", "cannot write the process record: %s", strerror(errno));
  return starttime;
}
