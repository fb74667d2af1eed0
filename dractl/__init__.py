"""dractl explains, validates and discovers Kubernetes Dynamic Resource Allocation (DRA)."""

__version__ = "0.1.0"
