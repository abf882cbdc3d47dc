//! Files that are whole or not there: written under another name in the same folder, then renamed. Where a link stands, what it
//! leads to is written, and the link stays.

use super::Failure;
use super::blocks::Blocks;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

/// A file being written; compressed if its name ends in .gz or .zst. Dropped before it is published, it is not there.
pub(crate) struct Output {
    path: PathBuf,
    partial: Partial,
    writer: Coder,
}

/// Removes a file that was not finished.
struct Partial(Option<PathBuf>);

impl Drop for Partial {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            let _ = std::fs::remove_file(path);
        }
    }
}

enum Coder {
    Plain(Blocks),
    Gzip(flate2::write::GzEncoder<Blocks>),
    Zstd(zstd::Encoder<'static, Blocks>),
}

/// What a file holds, to know it again.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Seal {
    pub(crate) bytes: u64,
    pub(crate) xxh3: String,
}

impl Seal {
    /// Of a file that is there.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let (mut digest, mut buffer, mut bytes) = (Xxh3::new(), vec![0; 1 << 18], 0);
        loop {
            match io::Read::read(&mut file, &mut buffer)? {
                0 => return Ok(Self { bytes, xxh3: format!("{:032x}", digest.digest128()) }),
                count => {
                    digest.update(&buffer[..count]);
                    bytes += count as u64;
                }
            }
        }
    }
}

/// A file that is written and not yet in its place.
pub(crate) struct Closed {
    path: PathBuf,
    partial: Partial,
    pub(crate) seal: Seal,
}

fn cannot(path: &Path) -> impl Fn(io::Error) -> Failure + use<> {
    let path = path.display().to_string();
    move |error| {
        Failure::Input(format!(
            "cannot write {path}: {error}; check the folder, its permissions and the free space"
        ))
    }
}

/// Links that are followed before they are taken for a circle.
const LINKS: usize = 40;

/// Where writing to a path leads: links are followed, also to where nothing is yet.
pub(crate) fn target(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        match std::fs::read_link(&path) {
            Ok(to) => path = path.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many links, one behind the other"))
}

/// Makes sure that a folder knows the new names of its files.
fn sync_folder(of: &Path) -> io::Result<()> {
    let folder = of.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // Not every file system can, and not every folder may be opened; the files themselves are whole.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied
            ) =>
        {
            Ok(())
        }
        other => other,
    }
}

/// Puts a file that is whole in the place of another.
pub(crate) fn replace(from: &Path, to: &Path) -> Result<(), Failure> {
    std::fs::rename(from, to).and_then(|()| sync_folder(to)).map_err(cannot(to))
}

impl Output {
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let failed = cannot(path);
        if path.is_dir() {
            return Err(failed(io::Error::other("this is a folder")));
        }
        let place = target(path).map_err(&failed)?;
        let mut partial = place.clone().into_os_string();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let file = Blocks::create(&partial).map_err(&failed)?;
        let partial = Partial(Some(partial));
        let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
        let writer = match extension.as_ref().and_then(|extension| extension.to_str()) {
            Some("gz") => Coder::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default())),
            Some("zst") => Coder::Zstd(zstd::Encoder::new(file, 0).map_err(&failed)?),
            _ => Coder::Plain(file),
        };
        Ok(Self { path: place, partial, writer })
    }

    /// Writes bytes; errors name the file.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.write_all(bytes).map_err(|error| cannot(&self.path)(error))
    }

    /// Ends it and makes sure that it is on the disk.
    pub(crate) fn close(self) -> Result<Closed, Failure> {
        let Self { path, partial, writer } = self;
        let failed = cannot(&path);
        let blocks = match writer {
            Coder::Plain(blocks) => blocks,
            Coder::Gzip(coder) => coder.finish().map_err(&failed)?,
            Coder::Zstd(coder) => coder.finish().map_err(&failed)?,
        };
        let seal = blocks.finish().map_err(&failed)?;
        Ok(Closed { path, partial, seal })
    }
}

impl Write for Output {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match &mut self.writer {
            Coder::Plain(file) => file.write(buffer),
            Coder::Gzip(coder) => coder.write(buffer),
            Coder::Zstd(coder) => coder.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.writer {
            Coder::Plain(file) => file.flush(),
            Coder::Gzip(coder) => coder.flush(),
            Coder::Zstd(coder) => coder.flush(),
        }
    }
}

impl Closed {
    /// Puts it in its place.
    pub(crate) fn publish(mut self) -> Result<(), Failure> {
        if let Some(partial) = &self.partial.0 {
            replace(partial, &self.path)?;
            self.partial.0 = None;
        }
        Ok(())
    }

    /// Where it is and where it belongs.
    pub(crate) fn ways(&self) -> (&Path, &Path) {
        (self.partial.0.as_deref().unwrap_or(&self.path), &self.path)
    }

    /// Leaves it where it is, for somebody else to put in its place.
    pub(crate) fn leave(mut self) {
        self.partial.0 = None;
    }
}
