#include "../src/applets.h"
#include "claim.h"

int main(void) {
  CLAIM("a star stays within one directory", {
    EXPECT(pattern_matches("*.c", "main.c"));
    EXPECT(!pattern_matches("*.c", "src/main.c"));
    EXPECT(pattern_matches("src/*.c", "src/main.c"));
    EXPECT(pattern_matches("*", "anything"));
    EXPECT(!pattern_matches("*", "a/b"));
  });
  CLAIM("two stars cross directories, none included", {
    EXPECT(pattern_matches("**/*.c", "main.c"));
    EXPECT(pattern_matches("**/*.c", "a/b/main.c"));
    EXPECT(pattern_matches("a/**/z", "a/z"));
    EXPECT(pattern_matches("a/**/z", "a/b/c/z"));
    EXPECT(!pattern_matches("a/**/z", "b/z"));
    EXPECT(pattern_matches("a/**", "a/b/c"));
  });
  CLAIM("classes, question marks, braces and escapes", {
    EXPECT(pattern_matches("[a-c]?", "bz"));
    EXPECT(!pattern_matches("[!a-c]?", "bz"));
    EXPECT(pattern_matches("*.{ts,tsx}", "a.tsx"));
    EXPECT(pattern_matches("{a,b{c,d}}e", "bde"));
    EXPECT(!pattern_matches("{a,b}c", "ab"));
    EXPECT(pattern_matches("\\*", "*"));
    EXPECT(!pattern_matches("\\*", "x"));
    EXPECT(pattern_matches("a[", "a["));
  });
  CLAIM("a directory is entered only when something below may match", {
    EXPECT(pattern_may_match_below("src/*.c", "src"));
    EXPECT(!pattern_may_match_below("src/*.c", "docs"));
    EXPECT(!pattern_may_match_below("*.c", "src"));
    EXPECT(pattern_may_match_below("**/*.c", "src"));
    EXPECT(pattern_may_match_below("a/**/z", "a/b"));
    EXPECT(!pattern_may_match_below("a/**/z", "b"));
    EXPECT(pattern_may_match_below("{a,b}/c", "b"));
  });
  CLAIM("a pattern made to explode gives up", {
    EXPECT(!pattern_matches("*a*a*a*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
  });
  return broken_claims;
}
