"""Nodes, pods and an underlay in network namespaces: shared by tests/netns, tests/soak and bench/run."""
