//! Where the servers are and how they are to be used, from one line of text.

use crate::StoreError;
use std::time::Duration;

/// The prefix of all indices where the address names none.
const PREFIX: &str = "leitong";
/// How long a request may take, and how long it is tried again.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How long somebody who says nothing holds others up.
const LEASE: Duration = Duration::from_secs(5);

/// What an address says.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// `http://host:port` of each server.
    pub(crate) hosts: Vec<String>,
    /// What goes into the header `authorization`.
    pub(crate) authorization: Option<String>,
    pub(crate) prefix: String,
    /// Certificates are not looked at.
    pub(crate) insecure: bool,
    /// A file with the certificates to trust.
    pub(crate) ca: Option<String>,
    pub(crate) shards: u32,
    /// None: one where there is a second node.
    pub(crate) replicas: Option<u32>,
    pub(crate) timeout: Duration,
    pub(crate) lease: Duration,
}

impl Address {
    /// Reads `opensearch+http://[user:password@]host:port[,host:port][/prefix][?name=value&…]`.
    pub(crate) fn parse(address: &str) -> Result<Self, StoreError> {
        let shown = without_secrets(address);
        let wrong = |what: String| StoreError::Address { address: shown.clone(), what };
        let scheme = |(scheme, rest)| match scheme {
            "opensearch+http" | "elasticsearch+http" => Some(("http", 9200, rest)),
            "opensearch+https" | "elasticsearch+https" => Some(("https", 443, rest)),
            _ => None,
        };
        let (scheme, port, rest) = address.split_once("://").and_then(scheme).ok_or_else(|| {
            wrong("an address begins with opensearch+http://, opensearch+https:// or the same with elasticsearch".into())
        })?;
        let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (user, rest) = rest.rsplit_once('@').map_or((None, rest), |(user, rest)| (Some(user), rest));
        let (hosts, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = if prefix.is_empty() { PREFIX } else { prefix.trim_end_matches('/') };
        if !is_prefix(prefix) {
            let what = "as the name of an index it must have small letters, digits, - and _ only, a letter or digit first";
            return Err(wrong(format!("{prefix:?} cannot begin the names of indices: {what}")));
        }
        let host = |host: &str| match host.rsplit_once(':') {
            _ if host.is_empty() => {
                Err(wrong("a host is missing: write host:port, several with commas".into()))
            }
            Some((_, port)) if port.parse::<u16>().is_ok() => Ok(format!("{scheme}://{host}")),
            None => Ok(format!("{scheme}://{host}:{port}")),
            Some((_, port)) => {
                Err(wrong(format!("{port:?} is no port: write host:port, several with commas")))
            }
        };
        let mut parsed = Self {
            hosts: hosts.split(',').map(host).collect::<Result<_, _>>()?,
            authorization: user.map(basic),
            prefix: prefix.to_owned(),
            insecure: false,
            ca: None,
            shards: 1,
            replicas: None,
            timeout: TIMEOUT,
            lease: LEASE,
        };
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            parsed.set(name, &decoded(value)).map_err(wrong)?;
        }
        Ok(parsed)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let number = |least: u32| {
            let number = value.parse().ok().filter(|number| *number >= least);
            number.ok_or_else(|| format!("{name} must be a number of at least {least}, not {value:?}"))
        };
        match name {
            "insecure" => {
                self.insecure = match value {
                    "true" => true,
                    "false" => false,
                    _ => return Err(format!("insecure must be true or false, not {value:?}")),
                }
            }
            "ca" => self.ca = Some(value.to_owned()),
            "api_key" => self.authorization = Some(format!("ApiKey {value}")),
            "shards" => self.shards = number(1)?,
            "replicas" => self.replicas = Some(number(0)?),
            "timeout_ms" => self.timeout = Duration::from_millis(number(1)?.into()),
            "lease_ms" => self.lease = Duration::from_millis(number(1)?.into()),
            _ => {
                let known = "insecure, ca, api_key, shards, replicas, timeout_ms and lease_ms";
                return Err(format!("{name:?} is no parameter of an address: there are {known}"));
            }
        }
        Ok(())
    }
}

/// Without user, password and key, for messages.
fn without_secrets(address: &str) -> String {
    let (address, _) = address.split_once('?').unwrap_or((address, ""));
    match (address.split_once("://"), address.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        _ => address.to_owned(),
    }
}

fn is_prefix(prefix: &str) -> bool {
    let usual = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let first = prefix.bytes().next().is_some_and(usual);
    first && prefix.len() <= 100 && prefix.bytes().all(|byte| usual(byte) || byte == b'-' || byte == b'_')
}

fn basic(user: &str) -> String {
    let (user, password) = user.split_once(':').unwrap_or((user, ""));
    format!("Basic {}", super::base64::encode(format!("{}:{}", decoded(user), decoded(password)).as_bytes()))
}

/// With `%40` and the like as what they stand for.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()).filter(|_| byte == b'%') {
            Some(decoded) => {
                bytes.push(decoded);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_an_address_can_say() {
        let address = "opensearch+https://me:p%40ss:w@a:1,b/news?insecure=true&shards=3&replicas=0&timeout_ms=5&lease_ms=7";
        let parsed = Address::parse(address).unwrap();
        assert_eq!(parsed.hosts, ["https://a:1", "https://b:443"]);
        assert_eq!(parsed.authorization.as_deref(), Some("Basic bWU6cEBzczp3"));
        assert_eq!((parsed.prefix.as_str(), parsed.insecure), ("news", true));
        assert_eq!((parsed.shards, parsed.replicas), (3, Some(0)));
        assert_eq!((parsed.timeout, parsed.lease), (Duration::from_millis(5), Duration::from_millis(7)));
        let plain = Address::parse("elasticsearch+http://localhost?api_key=a%3D").unwrap();
        assert_eq!((plain.hosts[0].as_str(), plain.prefix.as_str()), ("http://localhost:9200", "leitong"));
        assert_eq!(plain.authorization.as_deref(), Some("ApiKey a="));
    }

    #[test]
    fn what_is_none_is_refused_without_secrets() {
        for (address, says) in [
            ("http://me:secret@a", "begins with opensearch+http"),
            ("opensearch+http://me:secret@", "a host is missing"),
            ("opensearch+http://me:secret@a:x", "\"x\" is no port"),
            ("opensearch+http://me:secret@a/Upper", "small letters"),
            ("opensearch+http://me:secret@a/-x", "a letter or digit first"),
            ("opensearch+http://me:secret@a?shards=0&api_key=secret", "at least 1"),
            ("opensearch+http://me:secret@a?api_key=secret&insecure=yes", "true or false"),
            ("opensearch+http://me:secret@a?passwort=secret", "no parameter"),
        ] {
            let error = Address::parse(address).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains(says) && !error.contains("secret"), "{address}: {error}");
        }
    }
}
