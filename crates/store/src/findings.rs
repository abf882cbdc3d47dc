//! What a check of a store has found.

/// Problems that are told one by one; the others are only counted.
const TOLD: usize = 20;

/// What a check has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Records that were looked at.
    pub records: u64,
    /// Texts that were read.
    pub texts: u64,
    /// What is wrong: the first ones.
    pub problems: Vec<String>,
    /// How many problems there are.
    pub problem_count: u64,
}

impl Findings {
    pub(crate) fn wrong(&mut self, what: String) {
        self.problem_count += 1;
        if self.problems.len() < TOLD {
            self.problems.push(what);
        }
    }

    pub(crate) fn expect(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.wrong(what());
        }
    }
}
