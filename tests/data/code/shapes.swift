import Foundation

let defaultSides = 4

protocol Measured {
    func area() -> Double
}

enum Colour {
    case red
    case green
}

struct Shape: Measured {
    var sides: Int

    init(sides: Int) {
        self.sides = sides
    }

    func area() -> Double {
        return square(Double(sides))
    }
}

extension Shape {
    func describe() -> String {
        return "shape"
    }
}

func square(_ value: Double) -> Double {
    return value * value
}
