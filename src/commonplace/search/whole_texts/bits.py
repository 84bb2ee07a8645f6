"""Sets of small numbers as the bits of one integer: large sets intersect in microseconds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

FEW = 32


def bits_of(numbers: Collection[int]) -> int:
    """Return the set of some numbers."""
    if len(numbers) < FEW:
        bits = 0
        for number in numbers:
            bits |= 1 << number
        return bits
    digits = bytearray(b"0") * (max(numbers) + 1)
    for number in numbers:
        digits[-1 - number] = 49  # "1"
    return int(digits, 2)


def numbers_in(bits: int) -> Iterator[int]:
    """Yield the numbers of a set, ascending."""
    if bits.bit_count() < FEW:
        while bits:
            lowest = bits & -bits
            yield lowest.bit_length() - 1
            bits ^= lowest
        return
    digits = bin(bits)[:1:-1]
    at = digits.find("1")
    while at >= 0:
        yield at
        at = digits.find("1", at + 1)


def those_in(bits: int, numbers: Iterable[int]) -> list[int]:
    """Return those of the numbers that are in the set."""
    size = bits.bit_length()
    octets = bits.to_bytes((size + 7) // 8, "little")
    return [
        number for number in numbers if number < size and octets[number >> 3] >> (number & 7) & 1
    ]
