//! What many threads saw of a store, and whether one order of all calls can explain it.
//!
//! Every call is recorded with the moments of its invocation and of its response, from one counter. A record was possibly
//! there from the invocation that stored it to the response that ended it, and definitely there from the response that
//! stored it to the invocation that ended it. Rules that need a record to be there ask for the first, rules that need it not
//! to be there for the second, so whatever is reported is wrong in every order the calls can have had.

use std::collections::BTreeMap;

/// What probes ask for.
pub(crate) const PROBED: u32 = 3;
/// What counts as a duplicate: less than what is probed, so that there are candidates which are none.
pub(crate) const DUPLICATE: u32 = 2;

/// A document: an id and a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Doc {
    pub(crate) id: String,
    pub(crate) print: u64,
}

/// A record that an answer shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sight {
    pub(crate) doc: Doc,
    pub(crate) version: u64,
    /// The distance the store says it has.
    pub(crate) distance: u32,
}

/// A call and its answer.
#[derive(Clone, Debug)]
pub(crate) enum Call {
    /// Stored, with or without asking for others first.
    Stored { doc: Doc, version: u64, replaced: Option<u64>, unless: bool },
    /// Not stored, because of these.
    Unjudged { doc: Doc, judged: Vec<u64>, sights: Vec<Sight> },
    /// Taken out; none if it was not there.
    Removed { id: String, version: Option<u64> },
    /// All that is near, without a limit.
    Found { print: u64, sights: Vec<Sight> },
}

/// A call with the moments between which it took effect.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) call: Call,
}

/// The life of a record.
struct Life<'a> {
    doc: &'a Doc,
    version: u64,
    unless: bool,
    /// Invocation and response of the call that stored it.
    born: (u64, u64),
    /// Invocation and response of the call that ended it.
    died: (u64, u64),
}

impl Life<'_> {
    const NEVER: (u64, u64) = (u64::MAX, u64::MAX);

    fn possibly_during(&self, event: &Event) -> bool {
        self.born.0 < event.end && self.died.1 > event.start
    }

    /// From before the call to behind it.
    fn definitely_during(&self, event: &Event) -> bool {
        self.born.1 < event.start && self.died.0 > event.end
    }
}

pub(crate) fn distance(a: u64, b: u64) -> u32 {
    (a ^ b).count_ones()
}

/// Everything that no order of the calls explains. `left` is what was in the store after the last call.
pub(crate) fn violations(history: &[Event], left: &[(Doc, u64)]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut lives = births(history, &mut wrong);
    deaths(history, &mut lives, &mut wrong);
    order_of_versions(&lives, &mut wrong);
    duplicates(&lives, &mut wrong);
    one_per_id(&lives, &mut wrong);
    for event in history {
        answers(event, &lives, &mut wrong);
    }
    end_state(&lives, left, &mut wrong);
    wrong
}

type Lives<'a> = BTreeMap<u64, Life<'a>>;

fn births<'a>(history: &'a [Event], wrong: &mut Vec<String>) -> Lives<'a> {
    let mut lives = Lives::new();
    for event in history {
        if let Call::Stored { doc, version, unless, .. } = &event.call {
            let born = (event.start, event.end);
            let life = Life { doc, version: *version, unless: *unless, born, died: Life::NEVER };
            if lives.insert(*version, life).is_some() {
                wrong.push(format!("version {version} was given twice, the second time to {doc:?}"));
            }
        }
    }
    lives
}

/// Each record ends once, after it was stored, by a call about its id.
fn deaths(history: &[Event], lives: &mut Lives<'_>, wrong: &mut Vec<String>) {
    for event in history {
        let (id, version) = match &event.call {
            Call::Stored { doc, replaced: Some(version), .. } => (&doc.id, version),
            Call::Removed { id, version: Some(version) } => (id, version),
            _ => continue,
        };
        match lives.get_mut(version) {
            Some(life) if life.doc.id == *id && life.died == Life::NEVER && life.born.0 < event.end => {
                life.died = (event.start, event.end);
            }
            _ => wrong.push(format!("version {version} of {id:?} was not there to be ended by {event:?}")),
        }
    }
}

/// What was stored later has the higher version.
fn order_of_versions(lives: &Lives<'_>, wrong: &mut Vec<String>) {
    let mut latest = 0;
    for life in lives.values() {
        if life.born.1 < latest {
            wrong.push(format!("version {} was stored before a lower one was", life.version));
        }
        latest = latest.max(life.born.0);
    }
}

/// Nothing is accepted beside a duplicate, whichever of two came first: one that was there, and whose end began only after
/// the other was accepted, was there to be found.
fn duplicates(lives: &Lives<'_>, wrong: &mut Vec<String>) {
    let explained = |first: &Life<'_>, second: &Life<'_>| {
        let was_there = first.died.0 > second.born.1;
        first.born.0 < second.born.1 && !(second.unless && was_there)
    };
    for (later, earlier) in pairs(lives) {
        let alike =
            distance(later.doc.print, earlier.doc.print) <= DUPLICATE && later.doc.id != earlier.doc.id;
        if alike && !explained(earlier, later) && !explained(later, earlier) {
            let [a, b] = [earlier, later].map(|life| (life.version, life.doc, life.born, life.died));
            wrong.push(format!("{b:?} was accepted while its duplicate {a:?} was there, or the other way"));
        }
    }
}

/// What is stored under an id ends what was there under it, and says so.
fn one_per_id(lives: &Lives<'_>, wrong: &mut Vec<String>) {
    for (later, earlier) in pairs(lives).filter(|(later, earlier)| later.doc.id == earlier.doc.id) {
        if earlier.died.0 > later.born.1 {
            let id = &later.doc.id;
            wrong.push(format!("{id:?} was there as version {} and as {}", earlier.version, later.version));
        }
    }
}

/// All pairs, the later first.
fn pairs<'a>(lives: &'a Lives<'a>) -> impl Iterator<Item = (&'a Life<'a>, &'a Life<'a>)> {
    lives.values().flat_map(|later| lives.range(..later.version).map(move |(_, earlier)| (later, earlier)))
}

/// What an answer shows was there, and what was there is shown.
fn answers(event: &Event, lives: &Lives<'_>, wrong: &mut Vec<String>) {
    match &event.call {
        Call::Stored { .. } | Call::Removed { version: Some(_), .. } => {}
        Call::Removed { id, version: None } => {
            let there = |life: &&Life<'_>| life.doc.id == *id && life.definitely_during(event);
            if let Some(life) = lives.values().find(there) {
                wrong.push(format!("{event:?} did not see version {} of {id:?}", life.version));
            }
        }
        Call::Unjudged { doc, judged, sights } => {
            if sights.is_empty() {
                wrong.push(format!("refused for nothing: {event:?}"));
            }
            for sight in sights {
                seen(event, sight, doc.print, lives, wrong);
                if sight.doc.id == doc.id || judged.contains(&sight.version) {
                    wrong.push(format!("{sight:?} is itself or judged, and no reason to refuse: {event:?}"));
                }
            }
        }
        Call::Found { print, sights } => {
            sights.iter().for_each(|sight| seen(event, sight, *print, lives, wrong));
            missed(event, *print, sights, lives, wrong);
        }
    }
}

/// A record that is shown was possibly there, is as it was stored, and is as near as the answer says.
fn seen(event: &Event, sight: &Sight, print: u64, lives: &Lives<'_>, wrong: &mut Vec<String>) {
    let there =
        lives.get(&sight.version).filter(|life| *life.doc == sight.doc && life.possibly_during(event));
    let near = distance(print, sight.doc.print);
    if there.is_none() {
        wrong.push(format!("{sight:?} was not there during {event:?}"));
    }
    if near != sight.distance || near > PROBED {
        wrong.push(format!("{sight:?} has distance {near}, in {event:?}"));
    }
}

fn missed(event: &Event, print: u64, sights: &[Sight], lives: &Lives<'_>, wrong: &mut Vec<String>) {
    for life in lives.values().filter(|life| distance(life.doc.print, print) <= PROBED) {
        let shown = sights.iter().filter(|sight| sight.version == life.version).count();
        if shown > 1 || (shown == 0 && life.definitely_during(event)) {
            wrong.push(format!("version {} is shown {shown} times by {event:?}", life.version));
        }
    }
}

/// What is left is what was stored and never ended.
fn end_state(lives: &Lives<'_>, left: &[(Doc, u64)], wrong: &mut Vec<String>) {
    let mut expected: Vec<(u64, &Doc)> =
        lives.values().filter(|life| life.died == Life::NEVER).map(|life| (life.version, life.doc)).collect();
    let mut left: Vec<(u64, &Doc)> = left.iter().map(|(doc, version)| (*version, doc)).collect();
    expected.sort_by_key(|(version, _)| *version);
    left.sort_by_key(|(version, _)| *version);
    for lost in expected.iter().filter(|item| !left.contains(item)) {
        wrong.push(format!("{lost:?} is not there at the end, though nothing took it out"));
    }
    for stray in left.iter().filter(|item| !expected.contains(item)) {
        wrong.push(format!("{stray:?} is there at the end, though it was ended or never stored"));
    }
}

mod tests {
    use super::*;
    use std::slice::from_ref;

    fn doc(id: &str, print: u64) -> Doc {
        Doc { id: id.into(), print }
    }

    fn stored(start: u64, end: u64, doc: &Doc, version: u64, replaced: Option<u64>) -> Event {
        Event { start, end, call: Call::Stored { doc: doc.clone(), version, replaced, unless: true } }
    }

    fn removed(start: u64, end: u64, id: &str, version: Option<u64>) -> Event {
        Event { start, end, call: Call::Removed { id: id.into(), version } }
    }

    fn found(start: u64, end: u64, sights: Vec<Sight>) -> Event {
        Event { start, end, call: Call::Found { print: 0, sights } }
    }

    fn refused(start: u64, end: u64, doc: &Doc, judged: &[u64], sights: Vec<Sight>) -> Event {
        let call = Call::Unjudged { doc: doc.clone(), judged: judged.to_vec(), sights };
        Event { start, end, call }
    }

    fn sight(doc: &Doc, version: u64) -> Sight {
        Sight { doc: doc.clone(), version, distance: doc.print.count_ones() }
    }

    /// Exactly the violations that contain these words, in this order.
    fn assert_wrong(name: &str, history: &[Event], left: &[(&Doc, u64)], words: &[&str]) {
        let left: Vec<(Doc, u64)> = left.iter().map(|(doc, version)| ((*doc).clone(), *version)).collect();
        let wrong = violations(history, &left);
        let as_expected =
            wrong.len() == words.len() && wrong.iter().zip(words).all(|(wrong, word)| wrong.contains(word));
        assert!(as_expected, "{name}: expected {words:?}, found {wrong:#?}");
    }

    #[test]
    fn what_can_be_explained_is_not_reported() {
        let (a, b, c) = (doc("a", 0), doc("b", 1), doc("c", 7));
        assert_wrong(
            "not duplicates",
            &[stored(0, 1, &a, 0, None), stored(2, 3, &c, 1, None)],
            &[(&a, 0), (&c, 1)],
            &[],
        );
        let overlapping = [stored(0, 9, &a, 0, None), removed(1, 8, "a", Some(0)), stored(2, 7, &b, 1, None)];
        assert_wrong("removed in time", &overlapping, &[(&b, 1)], &[]);
        let in_any_case = |start, end| {
            let call = Call::Stored { doc: a.clone(), version: 0, replaced: None, unless: false };
            Event { start, end, call }
        };
        let at_once = [in_any_case(0, 3), stored(1, 2, &b, 1, None)];
        assert_wrong("stored in any case at the same time", &at_once, &[(&a, 0), (&b, 1)], &[]);
        let before = [in_any_case(0, 1), stored(2, 3, &b, 1, None)];
        let too_short = [stored(0, 5, &a, 0, None), stored(1, 2, &b, 1, None), removed(3, 4, "b", Some(1))];
        assert_wrong("gone before the lower version came", &too_short, &[(&a, 0)], &[]);
        assert_wrong("stored in any case before", &before, &[(&a, 0), (&b, 1)], &["its duplicate"]);
        let replacing = [stored(0, 1, &a, 3, None), stored(2, 3, &doc("a", 1), 7, Some(3))];
        assert_wrong("replaced", &replacing, &[(&doc("a", 1), 7)], &[]);
        let sights = [
            stored(0, 3, &a, 0, None),
            found(1, 2, vec![]),
            found(4, 5, vec![sight(&a, 0)]),
            refused(4, 6, &b, &[], vec![Sight { distance: 1, ..sight(&a, 0) }]),
            removed(7, 9, "a", Some(0)),
            found(8, 10, vec![sight(&a, 0)]),
            removed(8, 11, "a", None),
        ];
        assert_wrong("seen or not", &sights, &[], &[]);
    }

    #[test]
    fn duplicates_and_ends() {
        let (a, b) = (doc("a", 0), doc("b", 1));
        let both = [stored(0, 2, &a, 0, None), stored(1, 3, &b, 1, None)];
        assert_wrong("both", &both, &[(&a, 0), (&b, 1)], &["its duplicate"]);
        let too_late = [stored(0, 1, &a, 0, None), stored(2, 3, &b, 1, None), removed(4, 5, "a", Some(0))];
        assert_wrong("too late", &too_late, &[(&b, 1)], &["its duplicate"]);
        let twice = [stored(0, 1, &a, 0, None), stored(2, 3, &a, 1, None)];
        assert_wrong("one id", &twice, &[(&a, 0), (&a, 1)], &["as version 0 and as 1"]);
        let phantom = [removed(0, 1, "a", Some(5))];
        assert_wrong("phantom", &phantom, &[], &["not there to be ended"]);
        let again = [stored(0, 1, &a, 0, None), removed(2, 3, "a", Some(0)), removed(4, 5, "a", Some(0))];
        assert_wrong("removed twice", &again, &[], &["not there to be ended"]);
        let before = [removed(0, 1, "a", Some(0)), stored(2, 3, &a, 0, None)];
        assert_wrong("removed before", &before, &[(&a, 0)], &["not there to be ended"]);
        let backwards = [stored(0, 1, &a, 4, None), stored(2, 3, &doc("c", 255), 3, None)];
        assert_wrong("versions", &backwards, &[(&a, 4), (&doc("c", 255), 3)], &["before a lower one"]);
        let same = [stored(0, 1, &a, 4, None), removed(2, 3, "a", Some(4)), stored(4, 5, &a, 4, None)];
        assert!(
            violations(&same, &[]).iter().any(|wrong| wrong.contains("given twice")),
            "a version used again"
        );
    }

    #[test]
    fn answers_and_the_end() {
        let (a, b) = (doc("a", 0), doc("b", 1));
        let here = stored(0, 1, &a, 0, None);
        let one = |event: Event, word: &str| assert_wrong(word, &[here.clone(), event], &[(&a, 0)], &[word]);
        one(found(2, 3, vec![]), "shown 0 times");
        one(found(2, 3, vec![sight(&a, 0), sight(&a, 0)]), "shown 2 times");
        one(found(2, 3, vec![sight(&a, 0), sight(&b, 9)]), "was not there during");
        one(found(2, 3, vec![Sight { distance: 1, ..sight(&a, 0) }]), "has distance 0");
        one(removed(2, 3, "a", None), "did not see");
        one(refused(2, 3, &b, &[], vec![]), "for nothing");
        one(refused(2, 3, &b, &[0], vec![Sight { distance: 1, ..sight(&a, 0) }]), "itself or judged");
        one(refused(2, 3, &a, &[], vec![sight(&a, 0)]), "itself or judged");
        let gone =
            [here.clone(), removed(2, 3, "a", Some(0)), refused(4, 5, &doc("c", 0), &[], vec![sight(&a, 0)])];
        assert_wrong("refused for what is gone", &gone, &[], &["was not there during"]);
        assert_wrong("lost", from_ref(&here), &[], &["is not there at the end"]);
        assert_wrong("stray", from_ref(&here), &[(&a, 0), (&b, 1)], &["is there at the end"]);
        let wrong = [(&doc("a", 8), 0)];
        assert_wrong("changed", &[here], &wrong, &["is not there at the end", "is there at the end"]);
    }
}
