/*
 * A user namespace of the guest's own, for a container whose engine makes none: the guest starts as root of the host, becomes the user that the
 * kernel shall charge for the sandbox, and makes the namespace as that user. The server writes the map from outside.
 */
#ifndef HOLDFAST_OWN_USERS_H
#define HOLDFAST_OWN_USERS_H

#include <sys/types.h>

/* Ends as `maker` in a new user namespace, with all capabilities over that namespace and none over any other. NULL, or what failed. */
const char *own_users_make(uid_t maker);

/* Returns once the maps are written; connections until then only ask whether the namespace is there. NULL, or what failed. */
const char *own_users_await(int listener);

#endif
