"""A small harbour, sample text for read tools."""

from dataclasses import dataclass

TIDES = ("low", "flood", "high", "ebb")


@dataclass
class Boat:
    name: str
    draught_m: float


class Harbour:
    # Boats are moored in the order of their arrival.
    def __init__(self, depth_m: float) -> None:
        self.depth_m = depth_m
        self.boats: list[Boat] = []

    def moor(self, boat: Boat) -> bool:
        """Moor a boat if the water is deep enough."""
        if boat.draught_m > self.depth_m:
            return False
        self.boats.append(boat)
        return True

    def names(self) -> list[str]:
        return [boat.name for boat in self.boats]


if __name__ == "__main__":
    harbour = Harbour(depth_m=3.5)
    harbour.moor(Boat("Étoile", 2.1))
    print(harbour.names())
