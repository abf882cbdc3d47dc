//! Which Java a server can be started with.

use std::path::PathBuf;

/// The home of the oldest Java that is at least so new.
pub(super) fn at_least(version: u32) -> Option<PathBuf> {
    let homes = std::fs::read_dir("/usr/lib/jvm").ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let known = homes.filter_map(|home| Some((major(&home.join("release"))?, home)));
    known
        .filter(|(major, home)| *major >= version && home.join("bin/java").is_file())
        .min()
        .map(|(_, home)| home)
}

fn major(release: &std::path::Path) -> Option<u32> {
    let text = std::fs::read_to_string(release).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("JAVA_VERSION=\""))?;
    line.split(['.', '"', '-', '+']).next()?.parse().ok()
}
