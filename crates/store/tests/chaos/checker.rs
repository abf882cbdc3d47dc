//! Whether answers and what is left can be explained.
//!
//! A call without an answer may have been done at any time after its beginning, or never. What is reported is wrong however those
//! calls turned out.

use crate::history::{Answer, Call, Doc, Event};
use crate::worker::{DUPLICATE, PROBED, distance};
use std::collections::{BTreeMap, BTreeSet};

/// A record that is known to have been stored.
struct Life<'a> {
    doc: &'a Doc,
    version: u64,
    /// When it was certainly there: from the answer that it is stored to the beginning of the first call that may have ended it.
    certain: (u64, u64),
}

/// What is wrong, in words. `left` is what is there in the end: documents and versions.
pub(crate) fn violations(events: &[Event], left: &[(Doc, u64)]) -> Vec<String> {
    let mut wrong = Vec::new();
    let lives = lives(events, &mut wrong);
    duplicates(&lives, &mut wrong);
    shown(events, &lives, &mut wrong);
    end(events, &lives, left, &mut wrong);
    wrong
}

/// Calls that may change what stands under an id.
fn changes(events: &[Event]) -> BTreeMap<&str, Vec<&Event>> {
    let mut changes: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
    for event in events {
        let done =
            event.is_open() || matches!(event.answer, Some(Answer::Stored { .. } | Answer::Removed(Some(_))));
        let id = match &event.call {
            Call::Add { doc, .. } => &doc.id,
            Call::Remove { id } => id,
            Call::Find { .. } => continue,
        };
        if done {
            changes.entry(id).or_default().push(event);
        }
    }
    changes
}

fn lives<'a>(events: &'a [Event], wrong: &mut Vec<String>) -> Vec<Life<'a>> {
    let changes = changes(events);
    let (mut lives, mut versions) = (Vec::new(), BTreeSet::new());
    for event in events {
        let (Call::Add { doc, .. }, Some(Answer::Stored { version, .. })) = (&event.call, &event.answer)
        else {
            continue;
        };
        if !versions.insert(*version) {
            wrong.push(format!("version {version} was given twice"));
        }
        let others = changes[doc.id.as_str()].iter().filter(|other| !std::ptr::eq(**other, event));
        // One that had ended before this began cannot have ended it.
        let ends = others.filter(|other| other.end > event.start).map(|other| other.start);
        let death = ends.min().unwrap_or(u64::MAX);
        lives.push(Life { doc, version: *version, certain: (event.end, death) });
    }
    lives
}

/// Two that are duplicates and were both there.
fn duplicates(lives: &[Life<'_>], wrong: &mut Vec<String>) {
    for (at, life) in lives.iter().enumerate() {
        for other in &lives[..at] {
            let together = life.certain.0.max(other.certain.0) < life.certain.1.min(other.certain.1);
            let near = distance(life.doc.print, other.doc.print) <= DUPLICATE;
            if near && together && life.doc.id != other.doc.id {
                wrong.push(format!("{:?} and its duplicate {:?} were both stored", life.doc, other.doc));
            }
        }
    }
}

/// What a search shows was stored by somebody; what was there all the time is shown.
fn shown(events: &[Event], lives: &[Life<'_>], wrong: &mut Vec<String>) {
    for event in events {
        let (Call::Find { print }, Some(Answer::Found(sights))) = (&event.call, &event.answer) else {
            continue;
        };
        for sight in sights {
            let near = distance(sight.doc.print, *print) <= PROBED;
            let tried = events.iter().any(|other| {
                matches!(&other.call, Call::Add { doc, .. } if *doc == sight.doc) && other.start < event.end
            });
            if !near || !tried {
                wrong.push(format!("{sight:?} is shown for {print:x}"));
            }
        }
        let there = |life: &&Life<'_>| life.certain.0 < event.start && life.certain.1 > event.end;
        for life in lives.iter().filter(there).filter(|life| distance(life.doc.print, *print) <= PROBED) {
            if !sights.iter().any(|sight| sight.version == life.version) {
                wrong.push(format!("{:?} (version {}) was there and is not found", life.doc, life.version));
            }
        }
    }
}

fn end(events: &[Event], lives: &[Life<'_>], left: &[(Doc, u64)], wrong: &mut Vec<String>) {
    let versions: BTreeMap<u64, &Doc> = left.iter().map(|(doc, version)| (*version, doc)).collect();
    for life in lives.iter().filter(|life| life.certain.1 == u64::MAX) {
        if versions.get(&life.version) != Some(&life.doc) {
            wrong.push(format!("{:?} (version {}) was stored and is lost", life.doc, life.version));
        }
    }
    for event in events {
        if let Some(Answer::Removed(Some(version))) = event.answer
            && let Some(doc) = versions.get(&version)
        {
            wrong.push(format!("{doc:?} (version {version}) was removed and is there"));
        }
    }
    let known: BTreeMap<u64, &Doc> = lives.iter().map(|life| (life.version, life.doc)).collect();
    for (doc, version) in left {
        let perhaps = |event: &Event| {
            event.is_open() && matches!(&event.call, Call::Add { doc: own, .. } if own == doc)
        };
        if known.get(version) != Some(&doc) && !events.iter().any(perhaps) {
            wrong.push(format!("{doc:?} (version {version}) is there and nobody stored it"));
        }
    }
    for (at, (doc, _)) in left.iter().enumerate() {
        for (other, _) in &left[..at] {
            if doc.id == other.id || distance(doc.print, other.print) <= DUPLICATE {
                wrong.push(format!("{doc:?} and its duplicate {other:?} are both left"));
            }
        }
    }
}

mod tests {
    use super::*;
    use crate::history::Sight;

    fn doc(id: &str, print: u64) -> Doc {
        Doc { id: id.into(), print }
    }

    fn add(start: u64, end: u64, doc: &Doc, answer: Option<Answer>) -> Event {
        Event { start, end, call: Call::Add { doc: doc.clone(), judged: Vec::new() }, answer }
    }

    fn stored(start: u64, end: u64, doc: &Doc, version: u64) -> Event {
        add(start, end, doc, Some(Answer::Stored { version, replaced: None }))
    }

    fn remove(start: u64, end: u64, id: &str, answer: Option<Answer>) -> Event {
        Event { start, end, call: Call::Remove { id: id.into() }, answer }
    }

    #[track_caller]
    fn assert_wrong(events: &[Event], left: &[(&Doc, u64)], words: &[&str]) {
        let left: Vec<(Doc, u64)> = left.iter().map(|(doc, version)| ((*doc).clone(), *version)).collect();
        let wrong = violations(events, &left);
        let as_expected = wrong.len() == words.len() && wrong.iter().zip(words).all(|(a, b)| a.contains(b));
        assert!(as_expected, "expected {words:?}, found {wrong:#?}");
    }

    #[test]
    fn what_can_be_explained_is_not_reported() {
        let (a, b) = (doc("a", 0), doc("b", 1));
        assert_wrong(&[stored(0, 1, &a, 1)], &[(&a, 1)], &[]);
        let perhaps_removed = [stored(0, 1, &a, 1), remove(2, u64::MAX, "a", None), stored(3, 4, &b, 2)];
        assert_wrong(&perhaps_removed, &[(&b, 2)], &[]);
        let perhaps_stored = [add(0, u64::MAX, &a, Some(Answer::Perhaps(String::new())))];
        assert_wrong(&perhaps_stored, &[(&a, 7)], &[]);
        assert_wrong(&perhaps_stored, &[], &[]);
        let refused = [stored(0, 1, &a, 1), add(2, 3, &b, Some(Answer::Unjudged(Vec::new())))];
        assert_wrong(&refused, &[(&a, 1)], &[]);
    }

    #[test]
    fn what_cannot_is() {
        let (a, b) = (doc("a", 0), doc("b", 1));
        let both = [stored(0, 1, &a, 1), stored(2, 3, &b, 2)];
        assert_wrong(&both, &[(&a, 1), (&b, 2)], &["its duplicate", "are both left"]);
        assert_wrong(&[stored(0, 1, &a, 1)], &[], &["is lost"]);
        let early = [remove(0, 1, "a", None), stored(2, 3, &a, 1)];
        assert_wrong(
            &[Event { answer: Some(Answer::Removed(None)), ..early[0].clone() }, early[1].clone()],
            &[],
            &["is lost"],
        );
        let removed = [stored(0, 1, &a, 1), remove(2, 3, "a", Some(Answer::Removed(Some(1))))];
        assert_wrong(&removed, &[(&a, 1)], &["was removed and is there"]);
        assert_wrong(&[], &[(&a, 1)], &["nobody stored it"]);
        let nothing = add(0, 1, &a, Some(Answer::Nothing(String::new())));
        assert_wrong(&[nothing], &[(&a, 1)], &["nobody stored it"]);
        let find = |sights: Vec<Sight>| Event {
            start: 2,
            end: 3,
            call: Call::Find { print: 0 },
            answer: Some(Answer::Found(sights)),
        };
        assert_wrong(&[stored(0, 1, &a, 1), find(Vec::new())], &[(&a, 1)], &["is not found"]);
        let stranger = Sight { doc: b, version: 5 };
        assert_wrong(&[find(vec![stranger])], &[], &["is shown for"]);
        assert_wrong(
            &[stored(0, 1, &a, 1), stored(2, 3, &doc("c", 255), 1)],
            &[(&a, 1)],
            &["given twice", "is lost", "nobody stored it"],
        );
    }
}
