import React from "react";

interface ShapeProps {
  sides: number;
}

export function ShapeView({ sides }: ShapeProps) {
  return <section className="shape">{describe(sides)}</section>;
}

const describe = (sides: number): string => `${sides} sides`;

export class ShapeList extends React.Component<ShapeProps> {
  render() {
    return <ShapeView sides={this.props.sides} />;
  }
}
