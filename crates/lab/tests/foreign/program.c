#include <stdio.h>

int main(void) {
    for (int i = 0; i < 10; i++) printf("%d 0 %d 8 1\n", i, i * 8);
    return 0;
}
