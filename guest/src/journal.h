/*
 * The journal of one execution: the last bytes it printed, each with its sequence number and its channel.
 *
 * Sequence numbers count bytes of stdout and stderr together, in the order in which the guest read them. Bytes live
 * in a ring; the oldest are overwritten unless the owner holds them (see `journal_room`). Pages are touched only as
 * they are used and are not copied by fork.
 */
#ifndef HOLDFAST_JOURNAL_H
#define HOLDFAST_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOURNAL_BYTES 1048576u
#define JOURNAL_SEGMENTS 4096u

/* A run of bytes of one channel; it ends where the next begins. */
struct segment {
  uint64_t start;
  uint8_t channel;
};

struct journal {
  uint8_t *bytes;            /* `capacity` bytes, a power of two */
  struct segment *segments;  /* JOURNAL_SEGMENTS of them, a ring */
  uint32_t capacity;
  uint64_t first_segment, next_segment;
  uint64_t tail, head;       /* kept: tail <= seq < head */
};

bool journal_open(struct journal *journal, uint32_t capacity);
void journal_close(struct journal *journal);

/*
 * Where the next bytes go: a contiguous room of at most *length bytes, that overwrites nothing at or above `held`
 * (UINT64_MAX: nothing is held). *length is 0 when there is no room.
 */
uint8_t *journal_room(struct journal *journal, uint64_t held, size_t *length);
/* `length` bytes were written to the room, from this channel. */
void journal_append(struct journal *journal, size_t length, uint8_t channel);

/*
 * The bytes at `seq` (tail <= seq < head): contiguous, of one channel, at most `limit` of them.
 */
const uint8_t *journal_peek(const struct journal *journal, uint64_t seq, size_t limit, size_t *length, uint8_t *channel);

#endif
