//! Servers whose certificates are not trusted: what to do about it is the same for all of them.

/// What to do where a connection failed because the other side's certificate is not trusted, if that is why. Neither client says so
/// by anything but its words, which are those of the library that both use.
pub(crate) fn mistrust(why: &str) -> Option<String> {
    let says = |word: &str| why.contains(word);
    if !says("invalid peer certificate") {
        return None;
    }
    let what = if says("NotValidForName") || says("not valid for name") {
        "its certificate is for another name: use a name that is in it"
    } else if says("Expired") || says("expired") {
        "its certificate is too old: have it renewed"
    } else if says("NotValidYet") || says("not valid yet") {
        "its certificate is not valid yet: compare the clocks of both machines"
    } else if says("CaUsedAsEndEntity") {
        "its certificate is one to sign others with: give it one of its own (CA:FALSE)"
    } else {
        "its certificate is not trusted here: name what it was signed with, as ?ca=FILE in the address"
    };
    Some(format!("{what}, or take any with ?insecure=true ({why})"))
}
