/* Who a program will be: the sandbox's own user, one it names, or one number of a packed sandbox's range. */
#include "guest.h"
#include "passwd.h"
#include "start_request.h"

#include <errno.h>
#include <unistd.h>

bool user_is_packed(uid_t uid) { return defaults.first_user && uid >= defaults.first_user && uid - defaults.first_user < defaults.user_count; }

/* There is no default here: two neighbours that forgot to say who they are would be one and the same. */
static int choose_packed(struct start_request *r, const char **message) {
  if (r->user || !r->has_uid) {
    *message = "a packed sandbox needs the uid of who runs this";
    return EPERM;
  }
  if (!user_is_packed(r->uid) || (r->has_gid && r->gid != r->uid)) {
    *message = "the uid is none of this packed sandbox";
    return EPERM;
  }
  if (user_kill_is_pending(r->uid)) {
    *message = "everything of this user is being killed";
    return EBUSY;
  }
  r->program.uid = r->program.gid = r->uid;
  r->program.changes_user = true;
  r->program.max_processes = defaults.user_processes;
  return 0;
}

int user_choose(struct start_request *r, const char **message) {
  if (defaults.first_user) return choose_packed(r, message);
  uid_t uid = defaults.uid;
  gid_t gid = defaults.gid;
  if (r->user && !passwd_find(r->user, &uid, &gid)) {
    *message = "no such user in the sandbox";
    return ENOENT;
  }
  if (r->has_uid) uid = gid = r->uid;
  if (r->has_gid) gid = r->gid;
  if ((uid == 0 || gid == 0) && defaults.uid != 0) {
    *message = "commands never run as root";
    return EPERM;
  }
  if (defaults.uid != geteuid() && uid == geteuid()) {
    *message = "commands never run as the guest";
    return EPERM;
  }
  bool differs = uid != defaults.uid || gid != defaults.gid;
  if (differs && !defaults.may_change_user) {
    *message = "this sandbox has one user only";
    return EPERM;
  }
  r->program.uid = uid;
  r->program.gid = gid;
  r->program.changes_user = defaults.may_change_user;
  return 0;
}
