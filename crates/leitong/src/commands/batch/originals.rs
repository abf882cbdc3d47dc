//! Texts of JSON lines, read again where they stand instead of copied: a corpus takes its room on the disk once.

use crate::input::raw::{self, Doc, Source, Wanted};
use leitong_detect::batch::{Incoming, Originals, Spot};
use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Files that are held open for it; documents of further ones are copied.
const FILES: usize = 256;
/// Bits of a place that say where a line begins; those above say in which file.
const WITHIN: u32 = 48;

/// The inputs of which lines can be read again.
pub(crate) struct Inputs {
    /// By source.
    files: Vec<Option<(String, File)>>,
    wanted: Wanted,
}

impl Inputs {
    pub(crate) fn open(sources: &[Source], wanted: &Wanted) -> Self {
        let open = |source: &Source| {
            // A pipe can be read only once, and by one alone.
            let is_file = source.has_places() && source.path.metadata().ok()?.is_file();
            is_file.then(|| File::open(&source.path).ok()).flatten().map(|file| (source.name.clone(), file))
        };
        Self { files: sources.iter().take(FILES).map(open).collect(), wanted: wanted.clone() }
    }

    /// A document of a source, with the place of its line if that is enough.
    pub(crate) fn incoming(&self, source: usize, doc: Doc) -> Incoming {
        let is_open = self.files.get(source).is_some_and(Option::is_some);
        let spot = doc.line.filter(|&(at, _)| is_open && at < 1 << WITHIN);
        let spot = spot.map(|(at, length)| Spot { place: (source as u64) << WITHIN | at, length });
        Incoming { id: doc.id, text: doc.text, spot }
    }
}

impl Originals for Inputs {
    fn text<'r>(&self, spot: Spot, room: &'r mut Vec<u8>) -> io::Result<Cow<'r, str>> {
        let (source, at) = ((spot.place >> WITHIN) as usize, spot.place & ((1 << WITHIN) - 1));
        let file = self.files.get(source).and_then(Option::as_ref);
        let (name, file) = file.ok_or_else(|| io::Error::other("an input is not there any more"))?;
        let failed = |why: &dyn std::fmt::Display| io::Error::other(format!("{name}: byte {at}: {why}"));
        room.resize(spot.length as usize, 0);
        file.read_exact_at(room, at).map_err(|error| failed(&error))?;
        raw::text_again(room, &self.wanted).ok_or_else(|| failed(&"there is another line than before"))
    }
}
