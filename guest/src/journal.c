#include "journal.h"

#include <sys/mman.h>

static size_t mapping_bytes(uint32_t capacity) { return capacity + JOURNAL_SEGMENTS * sizeof(struct segment); }

bool journal_open(struct journal *j, uint32_t capacity) {
  void *memory = mmap(NULL, mapping_bytes(capacity), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  /* Children never look at it, and a fork must not pay for copying its page tables. */
  madvise(memory, mapping_bytes(capacity), MADV_DONTFORK);
  *j = (struct journal){.segments = memory, .capacity = capacity};
  j->bytes = (uint8_t *)memory + JOURNAL_SEGMENTS * sizeof(struct segment);
  return true;
}

void journal_close(struct journal *j) {
  if (j->segments) munmap(j->segments, mapping_bytes(j->capacity));
  j->segments = NULL;
  j->bytes = NULL;
}

static struct segment *segment_at(const struct journal *j, uint64_t index) {
  return &j->segments[index % JOURNAL_SEGMENTS];
}

static uint64_t segment_end(const struct journal *j, uint64_t index) {
  return index + 1 < j->next_segment ? segment_at(j, index + 1)->start : j->head;
}

/* Forgets segments that lie wholly below the tail. */
static void trim(struct journal *j) {
  while (j->first_segment < j->next_segment && segment_end(j, j->first_segment) <= j->tail) j->first_segment++;
}

uint8_t *journal_room(struct journal *j, uint64_t held, size_t *length) {
  uint64_t limit = held == UINT64_MAX ? UINT64_MAX : held + j->capacity;
  uint64_t index = j->head & (j->capacity - 1);
  uint64_t room = j->capacity - index;
  if (limit - j->head < room) room = limit - j->head;
  /* A full ring of segments counts as no room while the oldest one is held. */
  if (j->next_segment - j->first_segment == JOURNAL_SEGMENTS && held < segment_end(j, j->first_segment)) room = 0;
  *length = (size_t)room;
  return j->bytes + index;
}

void journal_append(struct journal *j, size_t length, uint8_t channel) {
  if (length == 0) return;
  bool extends = j->next_segment > j->first_segment && segment_at(j, j->next_segment - 1)->channel == channel;
  if (!extends) {
    if (j->next_segment - j->first_segment == JOURNAL_SEGMENTS) {
      j->tail = segment_end(j, j->first_segment);
      j->first_segment++;
    }
    *segment_at(j, j->next_segment++) = (struct segment){.start = j->head, .channel = channel};
  }
  j->head += length;
  if (j->head - j->tail > j->capacity) j->tail = j->head - j->capacity;
  trim(j);
}

/* The segment that holds `seq`; binary search, because an old cursor may be thousands of segments behind. */
static uint64_t segment_of(const struct journal *j, uint64_t seq) {
  uint64_t low = j->first_segment, high = j->next_segment - 1;
  while (low < high) {
    uint64_t middle = low + (high - low + 1) / 2;
    if (segment_at(j, middle)->start <= seq) low = middle; else high = middle - 1;
  }
  return low;
}

const uint8_t *journal_peek(const struct journal *j, uint64_t seq, size_t limit, size_t *length, uint8_t *channel) {
  uint64_t segment = segment_of(j, seq);
  uint64_t index = seq & (j->capacity - 1);
  uint64_t run = segment_end(j, segment) - seq;
  if (run > j->capacity - index) run = j->capacity - index;
  if (run > limit) run = limit;
  *length = (size_t)run;
  *channel = segment_at(j, segment)->channel;
  return j->bytes + index;
}
