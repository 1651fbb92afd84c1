"""The executors: native, reference and XLA, and the choice between them."""
