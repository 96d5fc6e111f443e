/* The fields that requests about an existing execution share: which one, and how. */
#ifndef HOLDFAST_SELECTION_H
#define HOLDFAST_SELECTION_H

#include "guest.h"

struct selection {
  uint64_t id, after, seq, token;
  char tag[MAX_TAG + 1];
  uint32_t window, signal, grace_ms, uid;
  uint16_t cols, rows;
  uint8_t tree;
  bool has_uid;
};

/* False when the payload breaks the protocol. */
bool selection_parse(const uint8_t *payload, uint32_t length, struct selection *selection);

#endif
