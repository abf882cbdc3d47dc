//! All pairs within `k` bits of a batch.
