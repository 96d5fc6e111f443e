/* Users as the sandbox itself names them: /etc/passwd and /etc/group, read without libc's plug-ins. */
#ifndef HOLDFAST_PASSWD_H
#define HOLDFAST_PASSWD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

bool passwd_find(const char *name, uid_t *uid, gid_t *gid);
/* Writes the name of an id, or the number when it has none. */
void passwd_user_name(uid_t uid, char *name, size_t size);
void passwd_group_name(gid_t gid, char *name, size_t size);

#endif
