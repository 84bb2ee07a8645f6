using System.Collections.Generic;

namespace Example
{
    public interface IMeasured
    {
        double Area();
    }

    public enum Colour { Red, Green }

    public class Shape : IMeasured
    {
        private const int DefaultSides = 4;

        public int Sides { get; set; }

        public Shape(int sides)
        {
            Sides = sides;
        }

        public double Area()
        {
            return Helpers.Square(Sides);
        }
    }

    public static class Helpers
    {
        public static double Square(double value) => value * value;
    }
}
