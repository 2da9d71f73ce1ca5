/* What the library says of itself, without a rank. */
#include <alcor.h>
#include <stdio.h>

int main(void)
{
    puts(alcor_version());
    return 0;
}
