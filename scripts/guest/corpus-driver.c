/*
 * Runs a fuzz target over the files given as arguments: what is left of fuzzing where there is no libFuzzer.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	if (file == NULL) {
		perror(path);
		return 1;
	}
	/* Exactly as large as the input, so that the sanitizer sees a read beyond its end. */
	size_t capacity = 0;
	uint8_t *data = NULL;
	size_t size = 0;
	if (fseek(file, 0, SEEK_END) == 0) {
		long length = ftell(file);
		if (length > 0) {
			capacity = (size_t)length;
		}
		rewind(file);
	}
	data = malloc(capacity > 0 ? capacity : 1);
	if (data == NULL) {
		fclose(file);
		return 1;
	}
	size = fread(data, 1, capacity, file);
	fclose(file);
	(void)LLVMFuzzerTestOneInput(data, size);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	for (int index = 1; index < argc; index++) {
		if (run_file(argv[index]) != 0) {
			return 1;
		}
	}
	return 0;
}
