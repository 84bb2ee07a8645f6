#include <math.h>
#include "shapes.h"

#define DEFAULT_SIDES 4

enum colour { RED, GREEN };

struct shape {
    int sides;
    const char *label;
};

typedef struct shape shape_t;

static int registry_size = 0;

double square(double value);

/* Return the area. */
double shape_area(const struct shape *shape)
{
    return M_PI * square(shape->sides);
}

char *shape_label(struct shape *shape)
{
    return shape->label;
}
