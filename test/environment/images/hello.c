/* The one program of the image without a shell: says hello, and shows its arguments. */
#include <stdio.h>

int main(int argc, char **argv)
{
	printf("hello");
	for (int index = 1; index < argc; index++) {
		printf(" %s", argv[index]);
	}
	printf("\n");
	return 0;
}
