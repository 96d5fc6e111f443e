/*
 * The complaint: what a program that was started printed on stderr, kept in a small sealed memory file.
 *
 * Not a pipe, because the launcher leaves and a later write would then kill the writer; not a log file, because
 * whoever takes over the guest could fill the host's disk with it.
 */
#ifndef HOLDFAST_LAUNCHER_COMPLAINT_H
#define HOLDFAST_LAUNCHER_COMPLAINT_H

enum { COMPLAINT_BYTES = 4096 };

int complaint_open(void);

/* The text so far, without the line ends around it; empty when nothing was printed. */
void complaint_read(int complaint, char text[COMPLAINT_BYTES + 1]);

#endif
