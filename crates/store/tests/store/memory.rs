//! The store in memory.

use crate::conformance::{SCORING, Subject, conforms};
use crate::histories::{self, Load};
use crate::{amount, errors, ids, marked, replaced};
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

#[test]
fn ids_are_kept_apart() {
    ids::kept_apart(&Memory::default());
}

#[test]
fn what_is_no_id_is_refused() {
    ids::refused(&Memory::default());
}

#[test]
fn errors_are_as_documented() {
    errors::no_collection(&Memory::default());
    errors::other_collection(&Memory::default());
    errors::misfits(&Memory::default());
}

fn load() -> Load {
    Load { threads: 64, rounds: amount(50, 5), calls: 10 }
}

#[test]
fn one_of_many_is_stored() {
    histories::one_of_many(&Memory::default(), load());
}

#[test]
fn one_of_many_is_stored_by_marks() {
    marked::one_of_many(&Memory::default(), load());
}

#[test]
fn chains_break_between_duplicates() {
    histories::chains(&Memory::default(), load());
}

#[test]
fn mixed_calls_can_be_explained() {
    histories::mixed(&Memory::default(), load());
}

#[test]
fn what_is_replaced_is_always_there() {
    replaced::always_there(&Memory::default(), amount(300, 50), Duration::ZERO);
}
