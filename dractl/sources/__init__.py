"""Everything that reads a cluster: snapshot files and the API server -> Inventory. The only place of such I/O."""
