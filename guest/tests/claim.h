/* The smallest test harness that names what it proves. */
#ifndef HOLDFAST_CLAIM_H
#define HOLDFAST_CLAIM_H

#include <stdbool.h>
#include <stdio.h>

static int broken_claims;

#define CLAIM(name, ...) \
  do { \
    bool claim_holds = true; \
    __VA_ARGS__ \
    printf("%s %s\n", claim_holds ? "ok" : "not ok", name); \
    if (!claim_holds) broken_claims++; \
  } while (0)

#define EXPECT(condition) \
  do { \
    if (!(condition)) { \
      claim_holds = false; \
      printf("# %s:%d: %s\n", __FILE__, __LINE__, #condition); \
    } \
  } while (0)

#endif
