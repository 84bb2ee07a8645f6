package org.example

import kotlin.math.PI

const val DEFAULT_SIDES = 4

interface Measured {
    fun area(): Double
}

enum class Colour { RED, GREEN }

/** A shape with sides. */
class Shape(val sides: Int) : Measured {
    val label: String = "shape"

    override fun area(): Double {
        return PI * square(sides.toDouble())
    }

    companion object {
        fun build(): Shape = Shape(DEFAULT_SIDES)
    }
}

object Registry {
    fun register(shape: Shape) = println(shape)
}

fun square(value: Double): Double = value * value
