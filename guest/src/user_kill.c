/*
 * The end of one user of a packed sandbox: every execution of it, and whatever else has its uid.
 *
 * Executions are killed by their supervisors, so that each end is reported as it was. Then the processes of the uid are
 * looked for, wherever they hang in the tree, and killed round by round until a reading finds none. Nothing new starts
 * for that uid meanwhile, so an empty reading after the last execution is a proof.
 */
#include "guest.h"
#include "tree.h"

#include <errno.h>
#include <stdlib.h>

/* As long as one execution is given by its own kill, and a little more. */
#define GIVE_UP_US 16000000
#define STEP_US 5000

struct user_kill {
  struct user_kill *next;
  uid_t uid;
  /* By supervisors; and the most that one round found beside them. */
  uint32_t killed, strays;
  int64_t give_up_us;
  struct connection *connection;    /* NULL: nobody waits for the answer any more */
  uint32_t stream;
};

static struct user_kill *kills;
/* Reading /proc at every turn of the loop would let a busy neighbour slow everybody down. */
static int64_t next_step_us;

bool user_kill_is_pending(uid_t uid) {
  for (struct user_kill *kill = kills; kill; kill = kill->next)
    if (kill->uid == uid) return true;
  return false;
}

void user_kill_count(uid_t uid, uint32_t killed) {
  for (struct user_kill *kill = kills; kill; kill = kill->next)
    if (kill->uid == uid) {
      kill->killed += killed;
      next_step_us = 0;
    }
}

void user_kill_leave(const struct connection *connection) {
  for (struct user_kill *kill = kills; kill; kill = kill->next)
    if (kill->connection == connection) kill->connection = NULL;
}

static bool executes(uid_t uid) {
  for (struct execution *e = executions; e; e = e->next)
    if (e->uid == uid && !e->is_tcp && !e->is_empty) return true;
  return false;
}

void user_kill_order(struct connection *connection, uint32_t stream, uid_t uid, uint32_t grace_ms) {
  if (!user_is_packed(uid)) {
    connection_end_stream(connection, stream, EINVAL, "the uid is none of this packed sandbox");
    return;
  }
  struct user_kill *kill = malloc(sizeof *kill);
  if (!kill) {
    connection_end_stream(connection, stream, ENOMEM, "out of memory");
    return;
  }
  *kill = (struct user_kill){.next = kills, .uid = uid, .connection = connection, .stream = stream};
  kill->give_up_us = now_us() + grace_ms * 1000LL + GIVE_UP_US;
  kills = kill;
  next_step_us = 0;
  for (struct execution *e = executions; e; e = e->next)
    if (e->uid == uid) execution_order_kill(e, grace_ms);
}

static void answer(const struct user_kill *kill, bool verified) {
  if (!kill->connection) return;
  struct frame_builder frame;
  frame_begin(&frame, FRAME_REPLY, kill->stream);
  frame_u32(&frame, TAG_KILLED, kill->killed + kill->strays);
  frame_u8(&frame, TAG_VERIFIED, verified);
  frame_end(&frame);
  connection_send(kill->connection, &frame);
  connection_end_stream(kill->connection, kill->stream, 0, "");
}

/* Empty only when the kernel shows nobody; a reading that failed shows nothing. */
static bool is_gone(struct user_kill *kill) {
  if (executes(kill->uid)) return false;
  struct pid_list left = {0};
  bool is_empty = user_processes(kill->uid, &left) && left.count == 0;
  pid_list_free(&left);
  if (!is_empty) {
    /* A process that the kernel has not taken away yet is found by the next round too, so rounds are not added up. */
    uint32_t found = (uint32_t)user_kill_round(kill->uid);
    if (found > kill->strays) kill->strays = found;
  }
  return is_empty;
}

int64_t user_kills_tick(int64_t now) {
  if (!kills || now < next_step_us) return kills ? next_step_us : 0;
  for (struct user_kill **link = &kills; *link;) {
    struct user_kill *kill = *link;
    bool gone = is_gone(kill);
    if (!gone && now < kill->give_up_us) {
      link = &kill->next;
      continue;
    }
    *link = kill->next;
    answer(kill, gone);
    free(kill);
  }
  next_step_us = now + STEP_US;
  return kills ? next_step_us : 0;
}
