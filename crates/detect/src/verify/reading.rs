//! A text as the verifier sees it.

use leitong_fingerprint::marks::{self, Mark};
use leitong_text::units::{Unit, UnitReader};

/// The units of a text and its marks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The units, in reading order.
    pub units: Vec<Unit>,
    /// The marks, by hash and then by place.
    pub marks: Vec<Mark>,
}

/// Reads texts; keeps its working memory from one to the next.
#[derive(Debug, Default)]
pub struct Reader {
    room: marks::Room,
}

impl Reader {
    /// Reads a text into `reading`, whose memory is used again.
    pub fn read(&mut self, text: &str, reading: &mut Reading) {
        self.read_in_order(text, reading);
        reading.sort();
    }

    /// Reads a text into `reading` with the marks in the order of their places.
    pub(crate) fn read_in_order(&mut self, text: &str, reading: &mut Reading) {
        reading.units.clear();
        UnitReader::shared().read(text, &mut reading.units);
        marks::choose(reading.units.iter().map(|unit| unit.value()), &mut self.room, &mut reading.marks);
    }

    /// Finds the marks of a reading whose units are there.
    pub(super) fn mark(&mut self, reading: &mut Reading) {
        marks::choose(reading.units.iter().map(|unit| unit.value()), &mut self.room, &mut reading.marks);
        reading.sort();
    }
}

/// Sorts marks by hash and then by place: by one number each, which is compared without a branch.
pub(super) fn sort(marks: &mut [Mark]) {
    marks.sort_unstable_by_key(|mark| u64::from(mark.hash) << 32 | u64::from(mark.at));
}

impl Reading {
    /// Reads a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut reading = Self::default();
        Reader::default().read(text, &mut reading);
        reading
    }

    /// What is made of units.
    #[must_use]
    pub fn of_units(units: Vec<Unit>) -> Self {
        let mut reading = Self { units, marks: Vec::new() };
        Reader::default().mark(&mut reading);
        reading
    }

    /// Puts the marks in order.
    fn sort(&mut self) {
        sort(&mut self.marks);
    }

    /// The distinct hashes of its marks, ascending.
    pub fn hashes(&self) -> impl Iterator<Item = u32> + '_ {
        let mut last = None;
        self.marks.iter().map(|mark| mark.hash).filter(move |&hash| last.replace(hash) != Some(hash))
    }
}
