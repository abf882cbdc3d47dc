//! Sizes as people write them, and the memory of this machine.

use std::path::Path;

/// Bytes of `256M`, `4G`, `1.5GiB`, `1000000`; units are powers of 1024.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is no size: write 256M, 4G or a number of bytes");
    let lower = text.trim().to_ascii_lowercase();
    let number = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match &lower[number.len()..] {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(wrong()),
    };
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let bytes = number * (1_u64 << shift) as f64;
    if bytes.is_finite() && (1.0..9e18).contains(&bytes) { Ok(bytes as u64) } else { Err(wrong()) }
}

/// The ceiling of a run: at least what its buffers need.
pub(crate) fn ceiling(text: &str) -> Result<u64, String> {
    match parse(text)? {
        bytes if bytes < 64 << 20 => Err(format!("{text} is too little to work with; give at least 64M")),
        bytes => Ok(bytes),
    }
}

/// As people read them: `1.4 GB`.
pub(crate) fn words(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["bytes", "KB", "MB", "GB"] {
        if value < 1024.0 {
            return match unit {
                "bytes" => format!("{bytes} bytes"),
                _ if value < 10.0 => format!("{value:.1} {unit}"),
                _ => format!("{value:.0} {unit}"),
            };
        }
        value /= 1024.0;
    }
    format!("{value:.1} TB")
}

/// A number and what it counts.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// What is used where nobody says: half of what is free, at most 4 GiB.
pub(crate) fn default_memory() -> u64 {
    let free = [field("/proc/meminfo", "MemAvailable:"), group_room()].into_iter().flatten().min();
    (free.unwrap_or(2 << 30) / 2).clamp(128 << 20, 4 << 30)
}

/// The most memory this process has had.
pub(crate) fn peak() -> Option<u64> {
    field("/proc/self/status", "VmHWM:")
}

fn field(file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

/// What the control group leaves, where there is a limit.
fn group_room() -> Option<u64> {
    let number = |name: &str| {
        let text = std::fs::read_to_string(Path::new("/sys/fs/cgroup").join(name)).ok()?;
        text.trim().parse::<u64>().ok()
    };
    Some(number("memory.max")?.saturating_sub(number("memory.current")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse("256M"), Ok(256 << 20));
        assert_eq!(parse("4g"), Ok(4 << 30));
        assert_eq!(parse("1.5GiB"), Ok(3 << 29));
        assert_eq!(parse("1000"), Ok(1000));
        for wrong in ["", "M", "-1G", "4X", "1e30G", "0", "nan"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert!(ceiling("1M").is_err());
        assert_eq!(words(1_536), "1.5 KB");
        assert_eq!(words(40 << 30), "40 GB");
        assert_eq!(words(7), "7 bytes");
    }
}
