//! Files that are whole or not there: written under another name in the same folder, then renamed.

use super::Failure;
use std::fs::File;
use std::io::{self, BufWriter, Write};
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
    Plain(Digesting),
    Gzip(flate2::write::GzEncoder<Digesting>),
    Zstd(zstd::Encoder<'static, Digesting>),
}

/// Knows what it has written.
struct Digesting {
    file: BufWriter<File>,
    bytes: u64,
    digest: Box<Xxh3>,
}

impl Write for Digesting {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let count = self.file.write(buffer)?;
        self.bytes += count as u64;
        self.digest.update(&buffer[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
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

impl Output {
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let failed = cannot(path);
        if path.is_dir() {
            return Err(failed(io::Error::other("this is a folder")));
        }
        let partial = PathBuf::from(format!("{}.partial", path.display()));
        let file = BufWriter::with_capacity(1 << 18, File::create(&partial).map_err(&failed)?);
        let partial = Partial(Some(partial));
        let file = Digesting { file, bytes: 0, digest: Box::new(Xxh3::new()) };
        let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
        let writer = match extension.as_ref().and_then(|extension| extension.to_str()) {
            Some("gz") => Coder::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default())),
            Some("zst") => Coder::Zstd(zstd::Encoder::new(file, 0).map_err(&failed)?),
            _ => Coder::Plain(file),
        };
        Ok(Self { path: path.to_owned(), partial, writer })
    }

    /// Writes bytes; errors name the file.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.write_all(bytes).map_err(|error| cannot(&self.path)(error))
    }

    /// Ends it and makes sure that it is on the disk.
    pub(crate) fn close(self) -> Result<Closed, Failure> {
        let Self { path, partial, writer } = self;
        let failed = cannot(&path);
        let digesting = match writer {
            Coder::Plain(file) => file,
            Coder::Gzip(coder) => coder.finish().map_err(&failed)?,
            Coder::Zstd(coder) => coder.finish().map_err(&failed)?,
        };
        let file = digesting.file.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(&failed)?;
        let seal = Seal { bytes: digesting.bytes, xxh3: format!("{:032x}", digesting.digest.digest128()) };
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
            std::fs::rename(partial, &self.path).map_err(cannot(&self.path))?;
            self.partial.0 = None;
        }
        Ok(())
    }
}
