//! The store in memory.

use crate::conformance::{SCORING, Subject, conforms};
use crate::histories::Load;
use crate::{amount, replaced};
use leitong_store::{Memory, Store};
use std::time::Duration;

impl Subject for Memory {
    fn store(&self) -> &dyn Store {
        self
    }
}

#[test]
fn as_the_model() {
    conforms(amount(1000, 100), &|clock| Box::new(Memory::new(clock).with_scoring(SCORING)));
}

fn with_new(test: impl Fn(&Memory)) {
    test(&Memory::default());
}

promises!();

fn load() -> Load {
    Load { threads: 64, rounds: amount(50, 5), calls: 10 }
}

#[test]
fn what_is_replaced_is_always_there() {
    replaced::always_there(&Memory::default(), amount(300, 50), Duration::ZERO);
}
