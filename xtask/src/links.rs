//! Links in our Markdown files lead to files that exist.

use super::run::Outcome;
use std::path::Path;
use std::process::Command;

pub(crate) fn check(root: &Path) -> Outcome<()> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "*.md"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot start git: {error}"))?;
    let mut broken = Vec::new();
    for file in String::from_utf8_lossy(&listed.stdout).lines() {
        let path = root.join(file);
        // A file that was removed but not yet committed is still listed.
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let folder = path.parent().unwrap_or(root);
        broken.extend(
            targets(&text)
                .filter(|target| !folder.join(target).exists())
                .map(|target| format!("{file} -> {target}")),
        );
    }
    if broken.is_empty() { Ok(()) } else { Err(format!("broken links: {}", broken.join(", "))) }
}

/// The relative targets of `[text](target)` links, without their anchors.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| {
        let target = rest.split(')').next()?.split('#').next()?;
        let local = !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:");
        local.then_some(target)
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_local_targets_count() {
        let text = "[a](docs/a.md#part) [b](https://example.org) [c](#here) [d](e.md)";
        assert_eq!(super::targets(text).collect::<Vec<_>>(), ["docs/a.md", "e.md"]);
    }
}
