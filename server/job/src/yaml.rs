//! YAML text to a tree of nodes, each with its place.
