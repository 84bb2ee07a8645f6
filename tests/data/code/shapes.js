import { pi } from "./math.js";
const fs = require("fs");

const DEFAULT_SIDES = 4;

/** Return the sum of all areas. */
export function totalArea(shapes) {
  return shapes.map((shape) => shape.area()).reduce(add);
}

const add = (left, right) => left + right;

export class Shape {
  sides = DEFAULT_SIDES;

  area() {
    return pi * square(this.sides);
  }
}

Shape.prototype.describe = function () {
  return fs.name;
};

module.exports.square = (value) => value * value;
