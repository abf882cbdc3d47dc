//! Reading ahead of what is taken in.

use crate::input::raw::{self, Read, Shape, Source, Wanted};
use rayon::prelude::*;
use std::sync::mpsc::SyncSender;

/// Files that are extracted together.
const FILES: usize = 32;

/// Reads sources one after the other; whole files several at a time, for extracting is work.
pub(super) fn read_sources(
    sources: &[Source],
    wanted: &Wanted,
    first: usize,
    skip: u64,
    sender: &SyncSender<(usize, Vec<Read>)>,
) {
    let mut at = first;
    while at < sources.len() {
        let files =
            sources[at..].iter().take(FILES).take_while(|source| source.shape == Shape::Document).count();
        let skip = if at == first { skip } else { 0 };
        if files > 0 && skip == 0 {
            let read: Vec<Read> =
                sources[at..at + files].par_iter().map(|source| raw::document(source, wanted)).collect();
            for (more, one) in read.into_iter().enumerate() {
                if sender.send((at + more, vec![one])).is_err() {
                    return;
                }
            }
            at += files;
            continue;
        }
        let mut wanted_more = true;
        raw::documents(&sources[at], wanted, skip, &mut |batch| {
            wanted_more = sender.send((at, batch)).is_ok();
            wanted_more
        });
        if !wanted_more {
            return;
        }
        at += 1;
    }
}
