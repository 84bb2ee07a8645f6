#!/bin/sh
. ./library.sh
source ./other.sh

DEFAULT_SIDES=4
export NAME=shape

# Print the area.
area() {
    square "$1"
}

function square {
    echo $(($1 * $1))
}

area "$DEFAULT_SIDES"
