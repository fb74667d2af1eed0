"""What Kubernetes is, without I/O: objects, quantities, versions, names, gates and decoding."""
