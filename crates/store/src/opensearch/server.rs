//! Which server it is, and whether it will do.

use super::http::{Body, Purpose, Server, Trouble};
use crate::StoreError;
use serde_json::Value;
use ureq::http::Method;

/// The two families.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    OpenSearch,
    Elasticsearch,
}

/// What is known of the servers of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Release {
    pub(crate) family: Family,
    pub(crate) version: (u32, u32),
}

impl Release {
    /// Asks for it, and refuses what is too old.
    pub(crate) fn of(server: &Server) -> Result<Self, StoreError> {
        let plain = |error| match error {
            Trouble::Store(error) => error,
            Trouble::Gone => server.foreign("it has no indices, but says nothing else"),
        };
        let reply = server.ask(&Method::GET, "/", Body::None, Purpose::Knocking)?;
        let number = |body: &Value| body["version"]["number"].as_str().map(str::to_owned);
        let release = match (reply.status, number(&reply.body)) {
            (200, Some(number)) => {
                // Only one of the two says what it is.
                let opensearch = reply.body["version"]["distribution"] == "opensearch";
                Self::parse(
                    &number,
                    Some(if opensearch { Family::OpenSearch } else { Family::Elasticsearch }),
                )
            }
            (401 | 403, _) => return Err(plain(server.refusal(reply.status, &reply.body))),
            _ => {
                // Bare distributions have no page of their own.
                let path = "/_nodes/_local?filter_path=nodes.*.version";
                let body = server.read(&Method::GET, path, Body::None).map_err(|_| no_server(server))?;
                let nodes = body["nodes"].as_object().and_then(|nodes| nodes.values().next());
                nodes.and_then(|node| Self::parse(node["version"].as_str()?, None))
            }
        };
        let release = release.ok_or_else(|| no_server(server))?;
        release.check(server)?;
        Ok(release)
    }

    fn parse(number: &str, family: Option<Family>) -> Option<Self> {
        let mut parts = number.split('.').map(|part| part.parse().ok());
        let version: (u32, u32) = (parts.next()??, parts.next()??);
        // One family began anew with 1, and the other has not been that low for long.
        let guess = if version.0 < 6 { Family::OpenSearch } else { Family::Elasticsearch };
        Some(Self { family: family.unwrap_or(guess), version })
    }

    /// Bulk changes must be able to insist on an alias (`require_alias`), which came with Elasticsearch 7.10.
    fn check(self, server: &Server) -> Result<(), StoreError> {
        let least = match self.family {
            Family::OpenSearch => (1, 0),
            Family::Elasticsearch => (7, 10),
        };
        if self.version >= least {
            return Ok(());
        }
        let (major, minor) = self.version;
        let what = format!(
            "{:?} {major}.{minor} is too old: OpenSearch 1 or Elasticsearch {}.{} is the least",
            self.family, 7, 10
        );
        Err(StoreError::Refused { server: server.name(), what })
    }

    /// The type of a field that takes any object and indexes what is in it; none if there is none.
    pub(crate) fn flattened(self) -> Option<&'static str> {
        match self.family {
            Family::Elasticsearch => Some("flattened"),
            Family::OpenSearch if self.version >= (2, 7) => Some("flat_object"),
            Family::OpenSearch => None,
        }
    }
}

fn no_server(server: &Server) -> StoreError {
    let what = "this is neither OpenSearch nor Elasticsearch: check host and port in the address";
    StoreError::Refused { server: server.name(), what: what.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases() {
        let of = |number: &str, family| Release::parse(number, family).unwrap();
        assert_eq!(of("5.6.1", Some(Family::Elasticsearch)).family, Family::Elasticsearch);
        assert_eq!(of("3.8.0", None), Release { family: Family::OpenSearch, version: (3, 8) });
        assert_eq!(of("9.2.0", None), Release { family: Family::Elasticsearch, version: (9, 2) });
        assert_eq!(of("7.17.29-SNAPSHOT", None).version, (7, 17));
        assert!(Release::parse("x.1", None).is_none());
    }
}
