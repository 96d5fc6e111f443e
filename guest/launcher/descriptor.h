/*
 * File descriptors: everything the launcher opens lives above FIRST_OWN_DESCRIPTOR and closes on exec, so that the low
 * numbers are free for what the jail program is meant to inherit, and nothing else ever leaks into it.
 */
#ifndef HOLDFAST_LAUNCHER_DESCRIPTOR_H
#define HOLDFAST_LAUNCHER_DESCRIPTOR_H

/* Moves a descriptor up; consumes the given one. */
int raise_descriptor(int descriptor);

struct pipe_ends {
  int read;
  int write;
};

struct pipe_ends make_pipe(void);

/* The same open file under a low number, inherited by exec. For the child only. */
void inherit_as(int descriptor, int number);

#endif
