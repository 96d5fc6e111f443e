/* See staging.h. */
#define _GNU_SOURCE
#include "staging.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "descriptor.h"
#include "mount-point.h"
#include "owner-map.h"
#include "report.h"

/* Spelled here because the headers that have it clash with each other on some C libraries. */
struct protection {
  unsigned long long set;
  unsigned long long clear;
  unsigned long long propagation;
  unsigned long long user_namespace;
};
enum {
  PROTECT_READ_ONLY = 1,
  PROTECT_NOSUID = 2,
  PROTECT_NODEV = 4,
  MAP_OWNERS = 0x100000,
  CLONE_TREE = 1,
  MOVE_FROM_DESCRIPTOR = 0x04,
  MOVE_TO_DESCRIPTOR = 0x40,
  SYSCALL_OPEN_TREE = 428,
  SYSCALL_MOVE_MOUNT = 429,
  SYSCALL_MOUNT_SETATTR = 442,
};

static const char TUN_DEVICE[] = "/dev/net/tun";

static void write_file(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0 || write(file, text, strlen(text)) < 0) fail("user namespace", "cannot write %s: %s", path, strerror(errno));
  close(file);
}

/* One id, mapped to itself: enough to mount, and the jail program makes its own namespace below this one. */
static void enter_user_namespace(void) {
  uid_t uid = getuid();
  gid_t gid = getgid();
  char map[64];
  if (unshare(CLONE_NEWUSER) != 0) fail("user namespace", "cannot make a user namespace: %s", strerror(errno));
  write_file("/proc/self/setgroups", "deny");
  snprintf(map, sizeof map, "%u %u 1\n", uid, uid);
  write_file("/proc/self/uid_map", map);
  snprintf(map, sizeof map, "%u %u 1\n", gid, gid);
  write_file("/proc/self/gid_map", map);
}

/* Slave, not private: what the host unmounts later must not be held by every sandbox. */
void staging_enter_mount_namespace(void) {
  if (unshare(CLONE_NEWNS) != 0) fail("staging", "cannot make a mount namespace: %s", strerror(errno));
  if (mount(NULL, "/", NULL, MS_SLAVE | MS_REC, NULL) != 0) fail("staging", "cannot detach from the host's mounts: %s", strerror(errno));
}

int staging_open(const char *path) {
  struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
  int descriptor = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
  if (descriptor < 0 && errno == ELOOP) fail("mount", "%s is no longer the directory that was checked: a symbolic link is in its way", path);
  if (descriptor < 0) fail("mount", "cannot open %s: %s", path, strerror(errno));
  return raise_descriptor(descriptor);
}

bool staging_is_directory(int source) {
  struct stat status;
  if (fstat(source, &status) != 0) fail("mount", "cannot look at a mount source: %s", strerror(errno));
  if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)) fail("mount", "a mount source is neither a directory nor a regular file");
  return S_ISDIR(status.st_mode);
}

int staging_copy_mount(const struct source *source, int descriptor, int owners) {
  struct protection protection = {.set = PROTECT_NOSUID | PROTECT_NODEV, .propagation = MS_PRIVATE};
  const unsigned recursive = source->layer == NULL ? AT_RECURSIVE : 0;
  if (source->is_read_only || source->layer != NULL) protection.set |= PROTECT_READ_ONLY;
  if (source->owners != NULL) {
    protection.set |= MAP_OWNERS;
    protection.user_namespace = (unsigned long long)owners;
  }
  int tree = (int)syscall(SYSCALL_OPEN_TREE, descriptor, "", CLONE_TREE | O_CLOEXEC | AT_EMPTY_PATH | recursive);
  if (tree < 0) fail("mount", "cannot copy the mount of %s: %s", source->path_or_options, strerror(errno));
  if (syscall(SYSCALL_MOUNT_SETATTR, tree, "", AT_EMPTY_PATH | recursive, &protection, sizeof protection) != 0) {
    fail("mount", "cannot protect %s: %s%s", source->path_or_options, strerror(errno), errno == ENOSYS ? " (Linux 5.12 or newer is needed)" : "");
  }
  return tree;
}

int staging_copy_directory(int directory) {
  int tree = (int)syscall(SYSCALL_OPEN_TREE, directory, "", CLONE_TREE | O_CLOEXEC | AT_EMPTY_PATH);
  if (tree < 0) fail("mount", "cannot copy the mount of a directory: %s", strerror(errno));
  return tree;
}

void staging_attach(int tree, int mount_point, const char *what) {
  if (syscall(SYSCALL_MOVE_MOUNT, tree, "", mount_point, "", MOVE_FROM_DESCRIPTOR | MOVE_TO_DESCRIPTOR) != 0) {
    fail("mount", "cannot mount %s: %s", what, strerror(errno));
  }
  close(tree);
  close(mount_point);
}

static int make_own_mount_point(const char *path, bool directory) {
  if (mount_point_make(AT_FDCWD, path, directory) != 0) fail("staging", "cannot make %s: %s", path, strerror(errno));
  int point = open(path, O_PATH | O_CLOEXEC);
  if (point < 0) fail("staging", "cannot open %s: %s", path, strerror(errno));
  return point;
}

/* The lower mounts need a path for a moment, because older kernels take no detached ones; the overlay keeps copies of its own. */
void staging_mount_overlay(const int *lowers, size_t count, int layer, const char *path, const char *what) {
  char lower[MAX_LAYERS][32], options[4096] = "lowerdir=";
  size_t length = strlen(options);
  if (count > MAX_LAYERS) fail("overlay", "%s has more than %d layers", what, MAX_LAYERS);
  if (mkdir(path, 0755) != 0) fail("staging", "cannot make %s: %s", path, strerror(errno));
  for (size_t i = 0; i < count; i++) {
    snprintf(lower[i], sizeof lower[i], "%.24s-%zu", path, i);
    staging_attach(lowers[i], make_own_mount_point(lower[i], true), what);
    length += (size_t)snprintf(options + length, sizeof options - length, "%s%s", i == 0 ? "" : ":", lower[i]);
    if (length >= sizeof options) fail("overlay", "the layers of %s are too many", what);
  }
  length += (size_t)snprintf(options + length, sizeof options - length, ",upperdir=/proc/self/fd/%d/upper,workdir=/proc/self/fd/%d/work,volatile", layer, layer);
  if (length >= sizeof options) fail("overlay", "the layers of %s are too many", what);
  if (mount("overlay", path, "overlay", MS_NOSUID | MS_NODEV, options) != 0) fail("overlay", "cannot mount an overlay over %s: %s", what, strerror(errno));
  for (size_t i = 0; i < count; i++) {
    if (umount2(lower[i], MNT_DETACH) != 0) fail("overlay", "cannot unmount %s: %s", lower[i], strerror(errno));
  }
}

static void move_mount_to(const char *path, int mount_point) {
  if (syscall(SYSCALL_MOVE_MOUNT, AT_FDCWD, path, mount_point, "", MOVE_TO_DESCRIPTOR) != 0) fail("staging", "cannot move %s: %s", path, strerror(errno));
  close(mount_point);
}

static void mount_tmpfs(const char *path, const char *options) {
  if (mkdir(path, 0755) != 0) fail("staging", "cannot make %s: %s", path, strerror(errno));
  if (mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options) != 0) fail("staging", "cannot mount a tmpfs (%s): %s", options, strerror(errno));
}

/* The network helper runs as an unprivileged user too, and some hosts keep the tun device to root. */
static void open_tun_to_helper(const char *staging_directory) {
  char path[256];
  snprintf(path, sizeof path, "%s/tun", staging_directory);
  mode_t before = umask(0);
  int made = mknod(path, S_IFCHR | 0666, makedev(10, 200));
  umask(before);
  /* Root of subordinate ids makes no devices. The server has seen that the host's own is open to every user. */
  if (made != 0 && errno == EPERM) return;
  if (made != 0 || mount(path, TUN_DEVICE, NULL, MS_BIND, NULL) != 0) fail("network", "cannot open %s to the network helper: %s", TUN_DEVICE, strerror(errno));
}

/* One namespace for all sources with the same map. */
static int owners_of(const struct plan *plan, int *opened, size_t index) {
  const char *lines = plan->sources[index].owners;
  if (lines == NULL) return -1;
  for (size_t i = 0; i < index; i++) {
    if (plan->sources[i].owners != NULL && strcmp(plan->sources[i].owners, lines) == 0) return opened[i];
  }
  return owner_map_open(lines);
}

static int open_below(const char *path, const char *relative, bool directory) {
  int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  int point = mount_point_open_below(root, relative, directory);
  close(root);
  return point;
}

static void stage_source(const struct plan *plan, const struct staged *staged, int owners, size_t index) {
  const struct source *source = &plan->sources[index];
  const bool is_below = source->below_path != NULL;
  char path[256];
  snprintf(path, sizeof path, "%s/%zu", plan->staging_directory, is_below ? source->below_source : index);
  if (source->is_tmpfs) {
    mount_tmpfs(path, source->path_or_options);
    return;
  }
  const int descriptor = staged->descriptors[index];
  if (source->layer != NULL) {
    char own[256];
    snprintf(own, sizeof own, "%s/%zu", plan->staging_directory, index);
    const int lower = staging_copy_mount(source, descriptor, owners);
    staging_mount_overlay(&lower, 1, staged->layers[index], own, source->path_or_options);
    if (is_below) move_mount_to(own, open_below(path, source->below_path, true));
    return;
  }
  const bool directory = staging_is_directory(descriptor);
  const int point = is_below ? open_below(path, source->below_path, directory) : make_own_mount_point(path, directory);
  staging_attach(staging_copy_mount(source, descriptor, owners), point, source->path_or_options);
}

void staging_cover(const char *directory) {
  if (mount("tmpfs", directory, "tmpfs", MS_NOSUID, "mode=755,size=1m") != 0) {
    fail("staging", "cannot mount a tmpfs on %s: %s", directory, strerror(errno));
  }
}

void try_overlay(const char *owners, const char *lower, const char *layer) {
  const struct source source = {.path_or_options = lower, .layer = layer, .owners = owners};
  staging_enter_mount_namespace();
  int descriptor = staging_open(lower), changes = staging_open(layer);
  staging_cover("/mnt");
  const int tree = staging_copy_mount(&source, descriptor, owner_map_open(owners));
  staging_mount_overlay(&tree, 1, changes, "/mnt/0", lower);
}

void staging_prepare(const struct plan *plan, struct staged *staged) {
  if (plan->staging == STAGE_IN_USER_NAMESPACE) enter_user_namespace();
  if (plan->staging != STAGE_NOT) staging_enter_mount_namespace();
  /* All are opened before the staging directory is covered: a source may lie below it. */
  for (size_t i = 0; i < plan->source_count; i++) {
    const struct source *source = &plan->sources[i];
    staged->descriptors[i] = source->is_tmpfs ? -1 : staging_open(source->path_or_options);
    staged->layers[i] = source->layer == NULL ? -1 : staging_open(source->layer);
  }
  if (plan->staging == STAGE_NOT) return;
  static int owners[MAX_SOURCES];
  for (size_t i = 0; i < plan->source_count; i++) owners[i] = owners_of(plan, owners, i);
  staging_cover(plan->staging_directory);
  for (size_t i = 0; i < plan->source_count; i++) stage_source(plan, staged, owners[i], i);
  if (plan->network_program != NULL && plan->staging == STAGE_AS_ROOT) open_tun_to_helper(plan->staging_directory);
}
