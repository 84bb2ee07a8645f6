use std::f64::consts::PI;

pub const DEFAULT_SIDES: usize = 4;

/// A shape with sides.
#[derive(Debug)]
pub struct Shape {
    sides: usize,
}

pub enum Colour {
    Red,
    Green,
}

pub trait Measured {
    fn area(&self) -> f64;
}

impl Measured for Shape {
    fn area(&self) -> f64 {
        PI * square(self.sides as f64)
    }
}

mod helpers {
    pub fn double(value: f64) -> f64 {
        value + value
    }
}

fn square(value: f64) -> f64 {
    println!("{}", value);
    value * value
}

macro_rules! shapes {
    () => {};
}
