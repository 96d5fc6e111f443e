/*
 * Network: reach anything at all when the network is off.
 *
 * No packet is ever sent on a network that works: connecting a datagram socket only asks the kernel for a route, so
 * an open network is found out, and reported as broken, before anything could leave.
 */
#include "attack.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct target {
  struct sockaddr_storage address;
  socklen_t length;
  bool is_loopback;
};

static bool parse_target(char **arguments, struct target *target) {
  memset(target, 0, sizeof *target);
  in_port_t port = htons((in_port_t)atoi(arguments[1]));
  struct sockaddr_in *four = (struct sockaddr_in *)&target->address;
  struct sockaddr_in6 *six = (struct sockaddr_in6 *)&target->address;
  if (inet_pton(AF_INET, arguments[0], &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = port;
    target->length = sizeof *four;
    target->is_loopback = (ntohl(four->sin_addr.s_addr) >> 24) == 127;
    return true;
  }
  if (inet_pton(AF_INET6, arguments[0], &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = port;
    target->length = sizeof *six;
    target->is_loopback = IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
    return true;
  }
  return false;
}

/* Asks for a route without sending anything. */
static bool has_route(const struct target *target) {
  int probe = socket(target->address.ss_family, SOCK_DGRAM, 0);
  if (probe < 0) return false;
  bool found = connect(probe, (const struct sockaddr *)&target->address, target->length) == 0;
  close(probe);
  return found;
}

static int try_connection(const struct target *target, char **arguments) {
  int connection = socket(target->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (connection < 0) return held("no such socket: %s", strerror(errno));
  int result = connect(connection, (const struct sockaddr *)&target->address, target->length);
  if (result < 0 && errno == EINPROGRESS) {
    struct pollfd writable = {.fd = connection, .events = POLLOUT};
    if (poll(&writable, 1, 3000) <= 0) return broken("a connection to %s was on its way", arguments[0]);
    int failure = 0;
    socklen_t size = sizeof failure;
    getsockopt(connection, SOL_SOCKET, SO_ERROR, &failure, &size);
    result = failure == 0 ? 0 : -1;
    errno = failure;
  }
  if (result == 0) return broken("connected to %s port %s", arguments[0], arguments[1]);
  return held("%s", strerror(errno));
}

static int connect_tcp(int count, char **arguments) {
  (void)count;
  struct target target;
  if (!parse_target(arguments, &target)) return unable("%s is not an address", arguments[0]);
  if (!target.is_loopback && has_route(&target)) return broken("there is a route to %s", arguments[0]);
  return try_connection(&target, arguments);
}

/* connect-gateway PORT: with the network on, the next hop is the host itself, and may lead to its loopback. */
static int connect_gateway(int count, char **arguments) {
  (void)count;
  FILE *routes = fopen("/proc/net/route", "r");
  if (routes == NULL) return unable("/proc/net/route: %s", strerror(errno));
  char line[512], name[64];
  unsigned int destination, gateway;
  while (fgets(line, sizeof line, routes) != NULL) {
    if (sscanf(line, "%63s %x %x", name, &destination, &gateway) != 3 || destination != 0 || gateway == 0) continue;
    char text[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &(struct in_addr){.s_addr = gateway}, text, sizeof text);
    char *address[] = {text, arguments[0]};
    struct target target;
    if (!parse_target(address, &target)) return unable("%s is not an address", text);
    return try_connection(&target, address);
  }
  return unable("there is no default route");
}

static int send_udp(int count, char **arguments) {
  (void)count;
  struct target target;
  if (!parse_target(arguments, &target)) return unable("%s is not an address", arguments[0]);
  if (!target.is_loopback && has_route(&target)) return broken("there is a route to %s", arguments[0]);
  int sender = socket(target.address.ss_family, SOCK_DGRAM, 0);
  if (sender < 0) return held("no such socket: %s", strerror(errno));
  if (sendto(sender, "attack", 6, 0, (struct sockaddr *)&target.address, target.length) >= 0 && !target.is_loopback) {
    return broken("a datagram left for %s", arguments[0]);
  }
  /* To our own loopback a datagram may go; whether the host's listener heard it, the host knows. */
  return held("%s", strerror(errno));
}

static int connect_abstract(int count, char **arguments) {
  (void)count;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen(arguments[0]);
  if (length + 1 > sizeof address.sun_path) return unable("the name is too long");
  memcpy(address.sun_path + 1, arguments[0], length);
  int connection = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connection < 0) return unable("socket: %s", strerror(errno));
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
  if (connect(connection, (struct sockaddr *)&address, size) == 0) return broken("connected to the host's abstract socket");
  return held("%s", strerror(errno));
}

static int open_socket(int count, char **arguments) {
  (void)count;
  const struct {
    const char *name;
    int family, type, protocol;
  } kinds[] = {
      {"raw", AF_INET, SOCK_RAW, IPPROTO_ICMP}, {"raw6", AF_INET6, SOCK_RAW, IPPROTO_ICMPV6}, {"packet", AF_PACKET, SOCK_RAW, 0},
      /* vsock knows no network namespace: through it a virtual machine's sandbox would reach the hypervisor. */
      {"vsock", AF_VSOCK, SOCK_STREAM, 0},
  };
  for (size_t index = 0; index < sizeof kinds / sizeof *kinds; index++) {
    if (strcmp(kinds[index].name, arguments[0]) != 0) continue;
    int made = socket(kinds[index].family, kinds[index].type, kinds[index].protocol);
    if (made >= 0) return broken("a %s socket was opened", arguments[0]);
    return held("%s", strerror(errno));
  }
  return unable("no socket kind is named %s", arguments[0]);
}

static int find_interface(int count, char **arguments) {
  (void)count, (void)arguments;
  FILE *devices = fopen("/proc/net/dev", "r");
  if (devices == NULL) return unable("/proc/net/dev: %s", strerror(errno));
  int control = socket(AF_INET, SOCK_DGRAM, 0);
  char line[512];
  int seen = 0;
  while (fgets(line, sizeof line, devices) != NULL) {
    char *colon = strchr(line, ':');
    if (colon == NULL) continue;
    *colon = '\0';
    const char *name = line + strspn(line, " ");
    seen++;
    if (strcmp(name, "lo") == 0) continue;
    struct ifreq request = {0};
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    /* A kernel with tunnel modules puts a dead `sit0` into every new namespace; only an interface that is up leads anywhere. */
    if (ioctl(control, SIOCGIFFLAGS, &request) < 0 || (request.ifr_flags & IFF_UP) != 0) return broken("interface %s is up", name);
  }
  return seen > 0 ? held("nothing but lo") : unable("/proc/net/dev lists nothing");
}

static int change_interface(int count, char **arguments) {
  (void)count, (void)arguments;
  int control = socket(AF_INET, SOCK_DGRAM, 0);
  if (control < 0) return unable("socket: %s", strerror(errno));
  struct ifreq request = {.ifr_name = "lo", .ifr_flags = 0};
  return expect_refusal("taking lo down", ioctl(control, SIOCSIFFLAGS, &request));
}

/* echo-server: no attack, but what a web app would be; says its port, then sends one visitor back what he sends. */
static int echo_server(int count, char **arguments) {
  (void)count, (void)arguments;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 || listen(listener, 1) < 0 ||
      getsockname(listener, (struct sockaddr *)&address, &length) < 0)
    return unable("cannot listen: %s", strerror(errno));
  held("%u", (unsigned)ntohs(address.sin_port));
  int visitor = accept(listener, NULL, NULL);
  char bytes[4096];
  for (ssize_t got; (got = read(visitor, bytes, sizeof bytes)) > 0;) {
    for (ssize_t sent = 0, done; sent < got; sent += done)
      if ((done = write(visitor, bytes + sent, (size_t)(got - sent))) < 0) return unable("write: %s", strerror(errno));
  }
  return EXIT_HELD;
}

const struct attack NETWORK_ATTACKS[] = {
    {"connect-tcp", connect_tcp, 2},       {"connect-gateway", connect_gateway, 1},       {"send-udp", send_udp, 2},
    {"connect-abstract", connect_abstract, 1}, {"open-socket", open_socket, 1},
    {"echo-server", echo_server, 0},       {"find-interface", find_interface, 0}, {"change-interface", change_interface, 0},
    {NULL, NULL, 0},
};
