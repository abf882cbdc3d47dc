//! Raw little-endian numbers in files, and what the kernel says about this process.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

/// Reads a file of `u64`, piece by piece: the whole file twice in memory would show up in the peak.
pub fn read(path: &Path) -> Result<Vec<u64>, String> {
    let failed = |error| format!("{}: {error}; run.py makes it", path.display());
    let mut file = File::open(path).map_err(failed)?;
    let count = file.metadata().map_err(failed)?.len() as usize / 8;
    let mut numbers = Vec::with_capacity(count);
    let mut piece = vec![0u8; 1 << 16];
    while numbers.len() < count {
        let length = piece.len().min((count - numbers.len()) * 8);
        file.read_exact(&mut piece[..length]).map_err(failed)?;
        numbers.extend(piece[..length].as_chunks().0.iter().map(|chunk| u64::from_le_bytes(*chunk)));
    }
    Ok(numbers)
}

/// Writes numbers under another name first, so that an interrupted run leaves no half file to be reused.
pub fn write<const N: usize>(path: &Path, numbers: impl Iterator<Item = [u8; N]>) -> Result<(), String> {
    let failed = |error| format!("{}: {error}; is there room on the disk?", path.display());
    let part = path.with_extension("part");
    let mut out = BufWriter::with_capacity(1 << 20, File::create(&part).map_err(failed)?);
    for number in numbers {
        out.write_all(&number).map_err(failed)?;
    }
    out.flush().map_err(failed)?;
    std::fs::rename(&part, path).map_err(failed)
}

/// A line of `/proc/self/status` in bytes: `VmRSS` is resident now, `VmHWM` was the most ever.
pub fn memory(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// Processor seconds of the whole process so far; the kernel counts them in hundredths.
pub fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}
