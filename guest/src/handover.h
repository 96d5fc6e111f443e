/*
 * A program on its way to the spare supervisor: one message with everything that describes it, and its descriptors.
 *
 * The spare was forked before the request came, so it cannot find the program in its own copy of the guest's memory.
 */
#ifndef HOLDFAST_HANDOVER_H
#define HOLDFAST_HANDOVER_H

#include "supervisor.h"

/* A larger one is left to a fork, which needs no copy. */
#define MAX_HANDOVER_BYTES 65536u

/* Never waits; false when it is too large or the spare cannot take it, and then nothing was handed over. */
bool handover_send(int control, const struct program *program);
/* Waits for a program; false when none will come. */
bool handover_receive(int control, struct program *program);

#endif
