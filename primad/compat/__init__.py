"""The APIs of other systems over the engine: thin layers that hold no derivative rule."""
