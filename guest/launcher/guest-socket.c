/* See guest-socket.h. */
#define _GNU_SOURCE
#include "guest-socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "descriptor.h"
#include "report.h"

/* Relative to the working directory: a socket address holds 107 bytes, a state directory may be longer. */
static const struct sockaddr_un ADDRESS = {.sun_family = AF_UNIX, .sun_path = "guest.sock"};

static int new_socket(int run_directory) {
  if (fchdir(run_directory) != 0) fail("socket", "cannot enter the run directory: %s", strerror(errno));
  int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) fail("socket", "cannot make a socket: %s", strerror(errno));
  return raise_descriptor(descriptor);
}

int guest_socket_listen(int run_directory) {
  int descriptor = new_socket(run_directory);
  mode_t before = umask(0177);
  int bound = bind(descriptor, (const struct sockaddr *)&ADDRESS, sizeof ADDRESS);
  umask(before);
  if (bound != 0) fail("socket", "cannot bind the guest's socket: %s", strerror(errno));
  if (listen(descriptor, 64) != 0) fail("socket", "cannot listen on the guest's socket: %s", strerror(errno));
  if (chdir("/") != 0) fail("socket", "cannot leave the run directory: %s", strerror(errno));
  return descriptor;
}

int guest_socket_speaks(int run_directory, int timeout_ms) {
  int descriptor = new_socket(run_directory);
  int speaks = 0;
  if (connect(descriptor, (const struct sockaddr *)&ADDRESS, sizeof ADDRESS) == 0) {
    struct pollfd wait = {.fd = descriptor, .events = POLLIN};
    char byte;
    speaks = poll(&wait, 1, timeout_ms) == 1 && recv(descriptor, &byte, 1, 0) == 1;
  }
  close(descriptor);
  return speaks;
}
