//! One process at a time in a folder.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::Path;

/// Locks a folder by a file in it that says who holds it. Inside: the locked file, to be kept open, or the present holder.
/// The system gives the lock back when the process ends, however it ends.
pub fn lock_folder(folder: &Path, holder: &str) -> io::Result<Result<File, String>> {
    let path = folder.join("lock");
    let mut file = File::options().read(true).write(true).create(true).truncate(false).open(&path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let holder = std::fs::read_to_string(&path).unwrap_or_default();
            let holder = holder.trim();
            return Ok(Err(if holder.is_empty() { "another process" } else { holder }.to_owned()));
        }
        Err(TryLockError::Error(error)) => return Err(error),
    }
    file.set_len(0)?;
    writeln!(file, "{holder}")?;
    Ok(Ok(file))
}
