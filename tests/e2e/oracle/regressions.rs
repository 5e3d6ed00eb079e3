//! Shortest histories that once broke a law.
