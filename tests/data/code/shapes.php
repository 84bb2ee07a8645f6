<?php
namespace Example;

use Example\Helpers\Square;

const DEFAULT_SIDES = 4;

interface Measured
{
    public function area(): float;
}

trait Named
{
    public function label(): string
    {
        return static::class;
    }
}

/** A shape with sides. */
class Shape implements Measured
{
    use Named;

    private int $sides = DEFAULT_SIDES;

    public function area(): float
    {
        return square($this->sides);
    }
}

function square(float $value): float
{
    return $value * $value;
}
