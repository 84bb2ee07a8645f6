package org.example;

import java.util.List;

public class Shapes {
    static final int DEFAULT_SIDES = 4;

    interface Measured {
        double area();
    }

    enum Colour { RED, GREEN }

    /** Returns the sum of all areas. */
    public static double totalArea(List<Measured> shapes) {
        return shapes.stream().mapToDouble(shape -> shape.area()).sum();
    }

    public Shapes() {
        new Square(DEFAULT_SIDES).area();
    }

    static class Square implements Measured {
        private final double side;

        Square(double side) {
            this.side = side;
        }

        @Override
        public double area() {
            return square(side);
        }
    }
}
