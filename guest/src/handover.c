#include "handover.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define DESCRIPTORS 3

union ancillary {
  char bytes[CMSG_SPACE(DESCRIPTORS * sizeof(int))];
  struct cmsghdr align;
};

bool handover_send(int control, const struct program *program) {
  if (program->block_size > MAX_HANDOVER_BYTES) return false;
  struct iovec parts[] = {
    {(void *)(uintptr_t)program, sizeof *program},
    {program->block, program->block_size},
  };
  union ancillary ancillary = {0};
  struct msghdr message = {
    .msg_iov = parts, .msg_iovlen = 2, .msg_control = ancillary.bytes, .msg_controllen = sizeof ancillary.bytes,
  };
  struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
  *rights = (struct cmsghdr){
    .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(DESCRIPTORS * sizeof(int)),
  };
  const int descriptors[DESCRIPTORS] = {program->input, program->output, program->errors};
  memcpy(CMSG_DATA(rights), descriptors, sizeof descriptors);
  return sendmsg(control, &message, MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
}

/* The pointers are the guest's, and its block lies elsewhere here. A constant lies where it always lay: we are a fork. */
static void *moved(const struct program *program, const void *pointer, char *block) {
  uintptr_t offset = (uintptr_t)pointer - (uintptr_t)program->block;
  return offset < program->block_size ? block + offset : (void *)(uintptr_t)pointer;
}

static void move_strings(struct program *program, char *block) {
  program->argv = moved(program, program->argv, block);
  program->env = moved(program, program->env, block);
  for (char **next = program->argv; *next; next++) *next = moved(program, *next, block);
  for (char **next = program->env; *next; next++) *next = moved(program, *next, block);
  program->cwd = moved(program, program->cwd, block);
  program->block = block;
}

/* One message of any kind; its length, with the descriptors when it brought them. */
static ssize_t receive(int control, struct iovec *parts, int *descriptors) {
  union ancillary ancillary;
  struct msghdr message = {
    .msg_iov = parts, .msg_iovlen = 2, .msg_control = ancillary.bytes, .msg_controllen = sizeof ancillary.bytes,
  };
  ssize_t got = recvmsg(control, &message, MSG_CMSG_CLOEXEC);
  struct cmsghdr *rights = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
  if (rights && rights->cmsg_len == CMSG_LEN(DESCRIPTORS * sizeof(int)))
    memcpy(descriptors, CMSG_DATA(rights), DESCRIPTORS * sizeof(int));
  return got;
}

bool handover_receive(int control, struct program *program) {
  static _Alignas(max_align_t) char block[MAX_HANDOVER_BYTES];
  struct iovec parts[] = {{program, sizeof *program}, {block, sizeof block}};
  int descriptors[DESCRIPTORS] = {-1, -1, -1};
  ssize_t got;
  /* An order that crossed the end of the tree it was meant for is nobody's any more. */
  do got = receive(control, parts, descriptors);
  while ((got < 0 && errno == EINTR) || got == (ssize_t)sizeof(struct order));
  if (descriptors[0] < 0 || (size_t)got != sizeof *program + program->block_size) return false;
  program->input = descriptors[0];
  program->output = descriptors[1];
  program->errors = descriptors[2];
  move_strings(program, block);
  return true;
}
