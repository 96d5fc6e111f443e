/* See complaint.h. */
#define _GNU_SOURCE
#include "complaint.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "descriptor.h"
#include "report.h"

int complaint_open(void) {
  int file = memfd_create("holdfast-complaint", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0 || ftruncate(file, COMPLAINT_BYTES) != 0 || fcntl(file, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    fail("complaint", "cannot make a memory file: %s", strerror(errno));
  }
  return raise_descriptor(file);
}

void complaint_read(int complaint, char text[COMPLAINT_BYTES + 1]) {
  ssize_t length = pread(complaint, text, COMPLAINT_BYTES, 0);
  text[length > 0 ? length : 0] = '\0';
  size_t end = strlen(text);
  while (end > 0 && text[end - 1] == '\n') text[--end] = '\0';
}
