//! End-to-end tests of Backstitch over the real binary; the tests are in `tests/`.
