//! One process at a time in a folder.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// Locks a folder by a file in it that says who holds it. Inside: the locked file, to be kept open, or the present holder.
/// The system gives the lock back when the process ends, however it ends.
pub fn lock_folder(folder: &Path, holder: &str) -> io::Result<Result<File, String>> {
    let path = folder.join("lock");
    let mut file = File::options().read(true).write(true).create(true).truncate(false).open(&path)?;
    match lock(&file) {
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

/// Locks, with a little patience: a process that is being started has the files of the one that starts it for a moment, locks
/// included, so a folder that was just closed may still look taken.
fn lock(file: &File) -> Result<(), TryLockError> {
    const PAUSE: Duration = Duration::from_millis(10);
    for _ in 0..30 {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            other => return other,
        }
    }
    file.try_lock()
}
