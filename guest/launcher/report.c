/* See report.h. */
#define _GNU_SOURCE
#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Every byte outside printable ASCII is escaped one by one: the text may be anything that a jail program printed. */
static void put_json_string(const char *text) {
  putchar('"');
  for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
    if (*at == '"' || *at == '\\') {
      printf("\\%c", *at);
    } else if (*at < 0x20 || *at > 0x7e) {
      printf("\\u%04x", *at);
    } else {
      putchar(*at);
    }
  }
  putchar('"');
}

void fail(const char *stage, const char *format, ...) {
  char reason[4096];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(reason, sizeof reason, format, arguments);
  va_end(arguments);
  printf("{\"ok\":false,\"stage\":");
  put_json_string(stage);
  printf(",\"reason\":");
  put_json_string(reason);
  printf("}\n");
  fflush(stdout);
  _Exit(1);
}

void report_started(pid_t init, unsigned long long starttime) {
  printf("{\"ok\":true,\"pid\":%d,\"starttime\":%llu}\n", (int)init, starttime);
  fflush(stdout);
}
