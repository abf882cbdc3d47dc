//! Bytes as text, for what JSON must carry.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}
