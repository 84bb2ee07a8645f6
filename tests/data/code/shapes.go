package shapes

import (
	"fmt"
	"math"
)

const DefaultSides = 4

var registry = map[string]Shape{}

// Shape has sides.
type Shape struct {
	Sides int
}

type Measured interface {
	Area() float64
}

// Area returns the area.
func (s *Shape) Area() float64 {
	return math.Pi * square(float64(s.Sides))
}

func square(value float64) float64 {
	fmt.Println(value)
	return value * value
}
