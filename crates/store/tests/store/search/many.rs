//! Many additions in one call, which go a way of their own: the same answers as one after the other.

use leitong_store::{Added, Addition, Collection, Memory, Policy, Record, Store, Want};

const NAME: &str = "many";
/// Additions of a call, and how many ids they have: some come again within a call, all in the next.
const ADDED: u32 = 400;
const IDS: u32 = 230;

fn addition(call: u32, number: u32) -> Addition {
    let record = Record {
        id: format!("id {}", number % IDS),
        title: Some(format!("{call}/{number}")),
        text: Some("正文 ".repeat((number * call) as usize % 50)),
        ..Record::default()
    };
    let policy = if (number / 7).is_multiple_of(3) { Policy::New } else { Policy::Replace };
    // Now and then over a version that cannot be.
    let over = (number % 31 == 5).then_some(u64::MAX);
    Addition { over, ..Addition::new(record, policy) }
}

/// An answer without its numbers.
fn kind(added: &Added) -> &'static str {
    match added {
        Added::Stored { replaced: None, .. } => "stored",
        Added::Stored { replaced: Some(_), .. } => "replaced",
        Added::Exists { .. } => "exists",
        Added::Changed { version: None } => "nothing to change",
        Added::Changed { version: Some(_) } => "changed",
        Added::Unjudged(_) => "unjudged",
    }
}

pub(crate) fn as_one_after_the_other(store: &dyn Store) {
    let memory = Memory::default();
    let collection =
        Collection { name: NAME.into(), recipe: [1; 16], about: String::new(), spaces: Vec::new() };
    [store, &memory].iter().for_each(|store| store.create(&collection).unwrap());
    for call in 1..4 {
        let additions = || (0..ADDED).map(|number| addition(call, number)).collect();
        let [own, model] = [store, &memory].map(|store| store.add(NAME, additions()).unwrap());
        let kinds = |added: &[Added]| added.iter().map(kind).collect::<Vec<_>>();
        assert_eq!(kinds(&own), kinds(&model), "call {call}");
        let version = |added: &Added| match added {
            Added::Stored { version, .. } => Some(*version),
            _ => None,
        };
        let versions: Vec<u64> = own.iter().filter_map(version).collect();
        assert!(versions.is_sorted_by(|a, b| a < b), "versions grow in order");
        let [own, model] = [store, &memory].map(|store| {
            let all = store.scan(NAME, None, usize::MAX, Want::Text).unwrap();
            all.into_iter().map(|stored| stored.record).collect::<Vec<_>>()
        });
        assert_eq!(own, model, "call {call}");
    }
}
