/* Whatever arrives on a connection: headers, fields, and the two kinds of requests made of them. */
#include "../src/selection.h"
#include "../src/start_request.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  while (size >= FRAME_HEADER_BYTES) {
    struct frame_header header;
    if (!frame_header_parse(data, &header)) return 0;
    if (size - FRAME_HEADER_BYTES < header.length) return 0;
    /* A copy of the exact size, so that a read beyond the payload is a fault. */
    uint8_t *payload = malloc(header.length ? header.length : 1);
    if (!payload) return 0;
    memcpy(payload, data + FRAME_HEADER_BYTES, header.length);
    if (header.type == FRAME_EXEC) {
      struct start_request request;
      if (start_request_parse(payload, header.length, &request) && (!request.argv[0] || request.argv[request.argc])) abort();
      free(request.block);
    } else if (header.type != FRAME_DATA) {
      struct selection selection;
      if (selection_parse(payload, header.length, &selection) && strlen(selection.tag) > MAX_TAG) abort();
    }
    free(payload);
    data += FRAME_HEADER_BYTES + header.length;
    size -= FRAME_HEADER_BYTES + header.length;
  }
  return 0;
}
