//! Servers whose certificates are not trusted: what to do about it is the same for all of them.

/// Words for a server whose certificate is not trusted.
pub(crate) const MISTRUST: &str = "its certificate is not trusted here: name what it was signed with, as ?ca=FILE in the address, or \
                                   take any with ?insecure=true";

/// Whether a connection failed because the other side's certificate is not trusted: nobody we know has signed it, it is for another
/// name, or it is too old. Neither client says so by anything but its words, which are those of the library that both use.
pub(crate) fn is_mistrust(why: &str) -> bool {
    why.contains("invalid peer certificate")
}
