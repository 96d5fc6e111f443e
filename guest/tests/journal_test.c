#include "../src/journal.h"
#include "claim.h"

#include <stdlib.h>
#include <string.h>

#define CAPACITY 4096u

static uint8_t channel_of(uint64_t seq) { return (seq / 7) % 3 == 0 ? 2 : 1; }
static uint8_t byte_of(uint64_t seq) { return (uint8_t)(seq * 31 + 7); }

/* Writes the bytes that belong at the head, run by run of one channel; returns how many fitted. */
static size_t fill(struct journal *journal, uint64_t held, size_t wanted) {
  size_t done = 0;
  while (done < wanted) {
    size_t room;
    uint8_t *place = journal_room(journal, held, &room);
    if (room == 0) break;
    size_t run = 0;
    uint8_t channel = channel_of(journal->head);
    while (run < room && run < wanted - done && channel_of(journal->head + run) == channel) {
      place[run] = byte_of(journal->head + run);
      run++;
    }
    journal_append(journal, run, channel);
    done += run;
  }
  return done;
}

static bool reads_back(const struct journal *journal, uint64_t from) {
  for (uint64_t seq = from; seq < journal->head;) {
    size_t length;
    uint8_t channel;
    const uint8_t *bytes = journal_peek(journal, seq, 1000, &length, &channel);
    if (length == 0 || length > 1000) return false;
    for (size_t i = 0; i < length; i++)
      if (bytes[i] != byte_of(seq + i) || channel != channel_of(seq + i)) return false;
    seq += length;
  }
  return true;
}

int main(void) {
  struct journal journal;
  CLAIM("what was written is read back with its channel, from any place that is kept", {
    EXPECT(journal_open(&journal, CAPACITY));
    EXPECT(fill(&journal, UINT64_MAX, 3000) == 3000);
    EXPECT(journal.tail == 0 && journal.head == 3000);
    for (uint64_t from = 0; from < 3000; from += 13) EXPECT(reads_back(&journal, from));
    journal_close(&journal);
  });
  CLAIM("with nobody holding, the newest bytes are kept and the tail says which", {
    EXPECT(journal_open(&journal, CAPACITY));
    for (int round = 0; round < 200; round++) {
      size_t wanted = (size_t)(rand() % 3000);
      EXPECT(fill(&journal, UINT64_MAX, wanted) == wanted);
      EXPECT(journal.head - journal.tail <= CAPACITY);
      EXPECT(reads_back(&journal, journal.tail));
    }
    EXPECT(journal.tail > 0);
    journal_close(&journal);
  });
  CLAIM("held bytes are never overwritten, and there is room again once they are let go", {
    EXPECT(journal_open(&journal, CAPACITY));
    uint64_t held = 0;
    for (int round = 0; round < 500; round++) {
      fill(&journal, held, (size_t)(rand() % 5000));
      EXPECT(journal.tail <= held && journal.head - held <= CAPACITY);
      EXPECT(reads_back(&journal, held));
      if (journal.head > held) held += (uint64_t)rand() % (journal.head - held + 1);
    }
    journal_close(&journal);
  });
  CLAIM("one-byte writes on alternating channels run out of segments, not out of bounds", {
    EXPECT(journal_open(&journal, 1u << 16));
    for (int i = 0; i < 20000; i++) {
      size_t room;
      uint8_t *place = journal_room(&journal, UINT64_MAX, &room);
      EXPECT(room > 0);
      *place = (uint8_t)i;
      journal_append(&journal, 1, (uint8_t)(1 + i % 2));
    }
    EXPECT(journal.next_segment - journal.first_segment <= JOURNAL_SEGMENTS);
    size_t length;
    uint8_t channel;
    const uint8_t *oldest = journal_peek(&journal, journal.tail, 10, &length, &channel);
    EXPECT(length == 1 && *oldest == (uint8_t)journal.tail && channel == 1 + journal.tail % 2);
    journal_close(&journal);
  });
  CLAIM("a reader that holds the oldest of a full ring of segments is not robbed of it", {
    EXPECT(journal_open(&journal, 1u << 16));
    size_t room = 1;
    int written = 0;
    for (; written < 20000 && room > 0; written++) {
      uint8_t *place = journal_room(&journal, 0, &room);
      if (room == 0) break;
      *place = (uint8_t)written;
      journal_append(&journal, 1, (uint8_t)(1 + written % 2));
    }
    EXPECT(journal.tail == 0 && written == (int)JOURNAL_SEGMENTS);
    journal_close(&journal);
  });
  return broken_claims;
}
