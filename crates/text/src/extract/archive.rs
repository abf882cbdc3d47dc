//! Reading a zip archive that may be a bomb.
//!
//! Sizes are checked twice: as declared, which refuses a plain bomb before anything is unpacked, and as they
//! stream out, because declared sizes can lie and members can overlap.

use std::io::{Cursor, Read};

use zip::ZipArchive;
use zip::read::ZipFile;

use super::{ExtractError, Format, Options};

/// Below this many bytes a high ratio is harmless: an empty sheet of one style packs a hundredfold.
const RATIO_COUNTS_FROM: u64 = 8 << 20;

/// An archive, and how much has come out of it.
pub(super) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    format: Format,
    unpacked: u64,
    max_unpacked: u64,
    max_ratio: u64,
}

impl<'a> Archive<'a> {
    /// Opens an archive and checks what it declares.
    pub(super) fn open(bytes: &'a [u8], format: Format, options: &Options) -> Result<Self, ExtractError> {
        let zip =
            ZipArchive::new(Cursor::new(bytes)).map_err(|error| ExtractError::corrupt(format, error))?;
        let archive = Self {
            zip,
            format,
            unpacked: 0,
            max_unpacked: options.max_unpacked,
            max_ratio: options.max_ratio,
        };
        let mut declared = 0_u64;
        for index in 0..archive.zip.len() {
            let Ok(entry) = archive.zip.by_index_data(index) else { continue };
            if entry.encrypted() {
                return Err(ExtractError::PasswordProtected { format });
            }
            declared = declared.saturating_add(entry.size());
            archive.check(&name(entry.name_raw()), declared, entry.size(), entry.compressed_size())?;
        }
        Ok(archive)
    }

    /// The content of a member, or `None` if there is no such member.
    pub(super) fn read(&mut self, wanted: &str) -> Result<Option<Vec<u8>>, ExtractError> {
        let Some(index) = self.zip.index_for_name(wanted) else { return Ok(None) };
        let mut content = Vec::new();
        self.stream(index, |chunk| content.extend_from_slice(chunk))?;
        Ok(Some(content))
    }

    /// Unpacks every wanted member into nothing, for parsers that unpack on their own and know no limits.
    pub(super) fn check_members(&mut self, wanted: impl Fn(&str) -> bool) -> Result<(), ExtractError> {
        for index in 0..self.zip.len() {
            if self.zip.by_index_data(index).is_ok_and(|entry| wanted(&name(entry.name_raw()))) {
                self.stream(index, |_| ())?;
            }
        }
        Ok(())
    }

    fn stream(&mut self, index: usize, mut sink: impl FnMut(&[u8])) -> Result<(), ExtractError> {
        let (format, before) = (self.format, self.unpacked);
        let corrupt = |error: &dyn std::fmt::Display| ExtractError::corrupt(format, error);
        let mut buffer = vec![0; 64 * 1024];
        let (mut out, mut member): (u64, ZipFile<'_, _>) =
            (0, self.zip.by_index(index).map_err(|error| corrupt(&error))?);
        let (packed, member_name) = (member.compressed_size(), name(member.name_raw()));
        let limits = Limits { max_unpacked: self.max_unpacked, max_ratio: self.max_ratio };
        loop {
            let len = member.read(&mut buffer).map_err(|error| corrupt(&error))?;
            if len == 0 {
                break;
            }
            out += len as u64;
            limits.check(&member_name, before.saturating_add(out), out, packed)?;
            sink(&buffer[..len]);
        }
        drop(member);
        self.unpacked = before.saturating_add(out);
        Ok(())
    }

    fn check(&self, member: &str, total: u64, unpacked: u64, packed: u64) -> Result<(), ExtractError> {
        let limits = Limits { max_unpacked: self.max_unpacked, max_ratio: self.max_ratio };
        limits.check(member, total, unpacked, packed)
    }
}

#[derive(Clone, Copy)]
struct Limits {
    max_unpacked: u64,
    max_ratio: u64,
}

impl Limits {
    fn check(self, member: &str, total: u64, unpacked: u64, packed: u64) -> Result<(), ExtractError> {
        let by_ratio = packed.saturating_mul(self.max_ratio).max(RATIO_COUNTS_FROM);
        let limit = if total > self.max_unpacked {
            self.max_unpacked
        } else if unpacked > by_ratio {
            by_ratio
        } else {
            return Ok(());
        };
        Err(ExtractError::ZipBomb { member: member.to_owned(), limit })
    }
}

fn name(raw: &[u8]) -> String {
    String::from_utf8_lossy(raw).into_owned()
}
