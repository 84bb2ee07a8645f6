import { pi } from "./math";

export const DEFAULT_SIDES = 4;

export interface Measured {
  area(): number;
  label?: string;
}

export type Sides = number;

export enum Colour {
  Red,
  Green,
}

namespace Geometry {
  export function square(value: number): number {
    return value * value;
  }
}

export abstract class Shape implements Measured {
  private sides: Sides = DEFAULT_SIDES;

  area(): number {
    return pi * Geometry.square(this.sides);
  }

  abstract describe(): string;
}

export const totalArea = (shapes: Measured[]): number => shapes.reduce((sum, s) => sum + s.area(), 0);
