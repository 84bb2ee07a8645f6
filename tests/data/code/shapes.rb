require "set"

module Geometry
  DEFAULT_SIDES = 4

  # A shape with sides.
  class Shape
    attr_reader :sides

    def initialize(sides)
      @sides = sides
    end

    def area
      square(sides)
    end

    def self.build
      new(DEFAULT_SIDES)
    end
  end
end

def square(value)
  value * value
end
