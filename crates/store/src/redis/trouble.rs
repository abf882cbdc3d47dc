//! What servers say when they do not do what they are asked, in words that say what to do.

use crate::StoreError;
use crate::certificate::mistrust;
use redis::{ErrorKind, RedisError, ServerError};

/// Whether an answer means that the same question may be answered later.
pub(crate) fn is_passing(error: &ServerError) -> bool {
    matches!(error.code(), "LOADING" | "BUSY" | "TRYAGAIN" | "CLUSTERDOWN" | "MASTERDOWN")
}

/// Whether an answer means that somebody else has to be asked.
pub(crate) fn is_elsewhere(error: &ServerError) -> bool {
    matches!(error.code(), "MOVED" | "ASK" | "READONLY")
}

/// What a server refuses. Nothing was changed by what it was asked.
pub(crate) fn refused(server: &str, error: &ServerError) -> StoreError {
    let said = error.details().unwrap_or_default();
    let remedy = match error.code() {
        "NOAUTH" => "it asks for a password: give it in the address, as in redis://:PASSWORD@host",
        "WRONGPASS" => "the user name or the password is wrong: check them in the address",
        "NOPERM" => {
            "this user may not do that: let it read, write and run scripts on the keys of the prefix (see docs/redis.md)"
        }
        "READONLY" => "it is a replica and cannot be written to: give the address of its master",
        "OOM" => "its memory is full: give it more (maxmemory) or remove documents; what is stored is safe",
        "MISCONF" => "it cannot write to its disk and takes no changes: see its log",
        "NOREPLICAS" => "it has too few replicas to take changes (min-replicas-to-write): start them",
        "LOADING" => "it is still reading its data: try again later",
        "BUSY" => "it has been busy with a script for long: try again later",
        "MASTERDOWN" => "it has lost its master: try again when that is back",
        "CLUSTERDOWN" => "its cluster is down: see `redis-cli --cluster check`",
        "TRYAGAIN" => "its cluster is being moved around: try again later",
        "MOVED" | "CROSSSLOT" => "it is part of a cluster: begin the address with redis-cluster://",
        "WRONGTYPE" => {
            let what =
                "something else stands under a key that Leitong uses: choose another ?prefix=".to_owned();
            return StoreError::Foreign { server: server.to_owned(), what };
        }
        // What a script may not do is no NOPERM of its own.
        _ if said.contains("can't run this command") || said.contains("can't access") => {
            "this user may not do that: let it read, write and run scripts on the keys of the prefix (see docs/redis.md)"
        }
        _ if said.contains("value is not an integer") => {
            let what =
                "something else stands under a key that Leitong uses: choose another ?prefix=".to_owned();
            return StoreError::Foreign { server: server.to_owned(), what };
        }
        _ if said.contains("cluster support disabled") => "it is no cluster: begin the address with redis://",
        _ if said.contains("max number of clients") => {
            "it has too many clients: raise maxclients or close some"
        }
        _ if said.contains("unknown command") || said.contains("unknown subcommand") => {
            "it does not know this command: Leitong needs Redis 5 or later, or Valkey, with scripts"
        }
        _ => "see docs/redis.md for what Leitong needs",
    };
    let code = error.code();
    StoreError::Refused { server: server.to_owned(), what: format!("{remedy} ({code} {said})") }
}

/// A server that could not be reached, or that is none.
pub(crate) fn unreachable(server: &str, error: &RedisError) -> StoreError {
    let refused =
        |what: &str| StoreError::Refused { server: server.to_owned(), what: format!("{what} ({error})") };
    match error.kind() {
        ErrorKind::AuthenticationFailed => {
            refused("the user name or the password is wrong: check them in the address")
        }
        ErrorKind::Parse | ErrorKind::UnexpectedReturnType => {
            refused("it does not speak as Redis does: check host and port, and rediss:// where it wants TLS")
        }
        ErrorKind::Io => {
            let (server, why) = (server.to_owned(), error.to_string());
            match mistrust(&why) {
                Some(what) => StoreError::Refused { server, what },
                None => StoreError::Unreachable { server, why },
            }
        }
        _ => match error.clone().try_into() {
            Ok(error) => self::refused(server, &error),
            Err(_) => refused("it could not be used: check the address"),
        },
    }
}
