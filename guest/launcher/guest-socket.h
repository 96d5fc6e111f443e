/*
 * The guest's socket: bound on the host, accepted from inside.
 *
 * The guest inherits the listening descriptor, so nothing of the socket is visible in the sandbox's file system and no
 * program in there can take its place.
 */
#ifndef HOLDFAST_LAUNCHER_GUEST_SOCKET_H
#define HOLDFAST_LAUNCHER_GUEST_SOCKET_H

/* Binds `guest.sock` in the directory and listens. */
int guest_socket_listen(int run_directory);

/* Connects to it and waits for the guest's first byte (its HELLO): true once it speaks, false when nobody will. */
int guest_socket_speaks(int run_directory, int timeout_ms);

#endif
