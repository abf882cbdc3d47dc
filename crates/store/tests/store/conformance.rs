//! Any store against the model: the same steps, and every answer compared.
//!
//! Stores may number as they like as long as numbers grow, so versions are compared by what they name: each version a store
//! gives is paired with the model's, and its answers are translated before they are compared.

mod translate;

use crate::Time;
use crate::model::Model;
use crate::steps::{self, Ask, Doc, IDS, NAMES, Origin, Question, Rule, Step};
use leitong_store::{
    Added, Addition, Clock, Memory, Policy, Probe, Query, Rank, Record, Scoring, Sources, Space,
    SpaceSettings, Store, StoreError, Stored, Want,
};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// Limits that few documents reach. Every subject must have them.
pub(crate) const SCORING: Scoring =
    Scoring { long: 4, used: 3, rare: 2, percent: 40, least: 600, most: 2500, tenths: 5, spare: 1 };
/// Origins from here on are no versions of any store in a short run.
const NO_VERSION: u64 = 1 << 40;

/// A store under test.
pub(crate) trait Subject {
    fn store(&self) -> &dyn Store;
    /// Closes it in good order and opens it again, where that means something.
    fn reopen(&mut self) {}
    /// Does one of the things it does now and then (flush, compact, merge); the number chooses.
    fn maintain(&mut self, _how: u8) {}
}

/// Runs `cases` random sequences of steps, each on a new and empty store with the given clock. What fails is printed as the
/// shortest sequence that does.
pub(crate) fn conforms(cases: u32, open: &dyn Fn(Clock) -> Box<dyn Subject>) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    run_all(TestRunner::new(config), open);
}

/// What happened, and how often.
type Tally = BTreeMap<&'static str, u32>;

fn run_all(mut runner: TestRunner, open: &dyn Fn(Clock) -> Box<dyn Subject>) -> Tally {
    let tally = RefCell::new(Tally::new());
    let result = runner.run(&steps::steps(60), |steps| {
        let time = Time::new();
        let mut run = Run::new(open(time.clock()), time);
        for (number, step) in steps.iter().enumerate() {
            run.take(step).map_err(|why| TestCaseError::fail(format!("step {number} ({step:?}): {why}")))?;
        }
        run.model.met.drain().for_each(|(what, times)| *run.tally.entry(what).or_default() += times);
        run.tally.iter().for_each(|(what, times)| *tally.borrow_mut().entry(what).or_default() += times);
        run.compare_all().map_err(|why| TestCaseError::fail(format!("after all steps: {why}")))
    });
    if let Err(error) = result {
        panic!("the store and the model disagree: {error}");
    }
    tally.into_inner()
}

/// The steps are worth as much as what they lead to.
#[test]
fn steps_lead_everywhere() {
    let config = Config { cases: 200, failure_persistence: None, ..Config::default() };
    let runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let tally = run_all(runner, &|clock| Box::new(Memory::new(clock).with_scoring(SCORING)));
    for what in PLACES {
        let times = tally.get(what).copied().unwrap_or_default();
        assert!(times >= 20, "{what}: {times} times in 200 sequences; all: {tally:?}");
    }
}

/// Where steps must lead.
const PLACES: [&str; 27] = [
    "changed",
    "no collection",
    "another collection",
    "destroyed",
    "expired",
    "stored",
    "replaced",
    "exists",
    "unjudged",
    "unjudged, and more",
    "unjudged beside judged ones",
    "stored beside judged ones",
    "the same id twice in a call",
    "removed",
    "found near",
    "found by keys alone",
    "found by both",
    "found at the largest distance",
    "found, and more",
    "found going on",
    "found by marks",
    "found by marks and more",
    "proposed by weight",
    "proposed without",
    "beyond those used",
    "beyond those counted",
    "several of one source",
];

/// What went wrong.
type Outcome<T = ()> = Result<T, String>;

struct Run {
    subject: Box<dyn Subject>,
    model: Model,
    time: Time,
    known: BTreeMap<usize, Known>,
    tally: Tally,
}

/// What is known of a collection's versions.
#[derive(Default)]
struct Known {
    /// From the store's versions to the model's.
    versions: BTreeMap<u64, u64>,
    /// The last candidate seen: its rank in the store and in the model.
    last: Option<(Rank, Rank)>,
    /// The next version is at least this.
    promised: u64,
}

impl Run {
    fn new(subject: Box<dyn Subject>, time: Time) -> Self {
        Self {
            subject,
            model: Model::new(time.clock(), SCORING),
            time,
            known: BTreeMap::new(),
            tally: Tally::new(),
        }
    }

    fn note(&mut self, what: &'static str, happened: bool) {
        *self.tally.entry(what).or_default() += u32::from(happened);
    }

    fn take(&mut self, step: &Step) -> Outcome {
        match step {
            Step::Create { name, shape, about } => self.create(*name, *shape, *about),
            Step::Destroy { name } => self.destroy(*name),
            Step::Collections => self.collections(),
            Step::Add { name, docs } => self.add(*name, docs),
            Step::Find { name, questions } => self.find(*name, questions),
            Step::Remove { name, ids } => self.remove(*name, ids),
            Step::Get { name, ids, want } => self.get(*name, ids, *want),
            Step::Scan { name, after, limit, want } => {
                self.scan(*name, after.map(|after| IDS[after]), *limit, *want)
            }
            Step::Sources { name, questions } => self.sources(*name, questions),
            Step::Count { name } => self.count(*name),
            Step::Advance(seconds) => {
                let count = |model: &Model| model.count(NAMES[0]).map_or(0, |count| count.documents);
                let before = count(&self.model);
                self.time.advance(*seconds);
                self.note("expired", count(&self.model) < before);
                Ok(())
            }
            Step::Reopen => {
                self.subject.reopen();
                Ok(())
            }
            Step::Maintain(how) => {
                self.subject.maintain(*how);
                Ok(())
            }
        }
    }

    fn create(&mut self, name: usize, shape: usize, about: u8) -> Outcome {
        let collection = steps::collection(name, shape, about);
        let answers = (self.subject.store().create(&collection), self.model.create(&collection));
        self.note("another collection", matches!(answers.1, Err(StoreError::OtherCollection { .. })));
        both("create", answers).map(|_| ())
    }

    fn destroy(&mut self, name: usize) -> Outcome {
        // Versions of a collection begin anew with it.
        self.known.remove(&name);
        let answers = (self.subject.store().destroy(NAMES[name]), self.model.destroy(NAMES[name]));
        self.note("destroyed", matches!(answers.1, Ok(true)));
        same("destroy", answers)
    }

    fn collections(&mut self) -> Outcome {
        same("collections", (self.subject.store().collections(), self.model.collections()))
    }

    fn count(&mut self, name: usize) -> Outcome {
        let answers = (self.subject.store().count(NAMES[name]), self.model.count(NAMES[name]));
        let Some((own, model)) = both("count", answers)? else { return Ok(()) };
        let known = self.known.entry(name).or_default();
        known.promised = known.promised.max(own.next_version);
        equal("number of documents", &own.documents, &model.documents)
    }

    fn remove(&mut self, name: usize, ids: &[usize]) -> Outcome {
        let ids: Vec<&str> = ids.iter().map(|id| IDS[*id]).collect();
        let answers = (self.subject.store().remove(NAMES[name], &ids), self.model.remove(NAMES[name], &ids));
        let Some((own, model)) = both("remove", answers)? else { return Ok(()) };
        self.note("removed", model.iter().any(Option::is_some));
        let own: Outcome<Vec<_>> =
            own.into_iter().map(|version| self.translate_some(name, version)).collect();
        equal("remove", &own?, &model)
    }

    fn get(&mut self, name: usize, ids: &[usize], want: Want) -> Outcome {
        let ids: Vec<&str> = ids.iter().map(|id| IDS[*id]).collect();
        let answers =
            (self.subject.store().get(NAMES[name], &ids, want), self.model.get(NAMES[name], &ids, want));
        let Some((own, model)) = both("get", answers)? else { return Ok(()) };
        let stored = |own: Option<Stored>| own.map(|own| self.translate_stored(name, own)).transpose();
        equal("get", &own.into_iter().map(stored).collect::<Outcome<Vec<_>>>()?, &model)
    }

    fn scan(&mut self, name: usize, after: Option<&str>, limit: usize, want: Want) -> Outcome {
        let of = |store: &dyn Store| store.scan(NAMES[name], after, limit, want);
        let Some((own, model)) = both("scan", (of(self.subject.store()), of(&self.model)))? else {
            return Ok(());
        };
        let own: Outcome<Vec<_>> = own.into_iter().map(|own| self.translate_stored(name, own)).collect();
        equal("scan", &own?, &model)
    }

    fn find(&mut self, name: usize, questions: &[Question]) -> Outcome {
        let spaces = self.spaces(name);
        let last = self.known.entry(name).or_default().last;
        let (mut to_store, mut to_model) = (Vec::new(), Vec::new());
        for question in questions {
            let except = question.except.map(|id| IDS[id].to_owned());
            let query =
                Query { probes: probes(&question.asks, &spaces), except, after: None, limit: question.limit };
            let last = last.filter(|_| question.go_on);
            to_store.push(Query { after: last.map(|last| last.0), ..query.clone() });
            to_model.push(Query { after: last.map(|last| last.1), ..query });
        }
        let answers =
            (self.subject.store().find(NAMES[name], &to_store), self.model.find(NAMES[name], &to_model));
        let Some((own, model)) = both("find", answers)? else { return Ok(()) };
        let remembered = own.iter().rev().find_map(|found| found.candidates.last()).map(|last| last.rank);
        let own: Outcome<Vec<_>> = own.into_iter().map(|found| self.translate_found(name, found)).collect();
        equal("find", &own?, &model)?;
        for (question, found) in questions.iter().zip(&model) {
            let marks = question.asks.iter().filter(|ask| matches!(ask, Ask::Marks(_))).count();
            let any = !found.candidates.is_empty();
            self.note("found by marks", any && marks == question.asks.len());
            self.note("found by marks and more", any && (1..question.asks.len()).contains(&marks));
        }
        for (query, found) in to_model.iter().zip(&model) {
            self.note("found going on", query.after.is_some() && !found.candidates.is_empty());
            self.note("found, and more", found.more && !found.candidates.is_empty());
            found.candidates.iter().for_each(|candidate| self.note_rank(candidate.rank));
        }
        if let Some(own) = remembered {
            let model = Rank { version: self.translate(name, own.version)?, ..own };
            self.known.entry(name).or_default().last = Some((own, model));
        }
        Ok(())
    }

    fn sources(&mut self, name: usize, questions: &[(Vec<u32>, Origin, Option<usize>)]) -> Outcome {
        let (mut to_store, mut to_model) = (Vec::new(), Vec::new());
        for (marks, origin, except) in questions {
            let origins = self.origins(name, *origin);
            let except = except.map(|id| IDS[id].to_owned());
            let question = Sources { marks: marks.clone(), origin: None, except };
            to_store.push(Sources { origin: origins.map(|origins| origins.0), ..question.clone() });
            to_model.push(Sources { origin: origins.map(|origins| origins.1), ..question });
        }
        let of = |store: &dyn Store, questions: &[Sources]| store.sources(NAMES[name], questions);
        let answers = (of(self.subject.store(), &to_store), of(&self.model, &to_model));
        self.note(
            "several of one source",
            matches!(&answers.1, Ok(all) if all.iter().flatten().any(|sources| *sources > 2)),
        );
        same("sources", answers)
    }

    /// An origin as the store and as the model number it.
    fn origins(&self, name: usize, origin: Origin) -> Option<(u64, u64)> {
        match origin {
            Origin::None => None,
            Origin::Number(number) => Some((NO_VERSION + number, NO_VERSION + number)),
            Origin::Of(id) => self.present(name, id),
        }
    }

    /// The version of an id as the store and as the model number it.
    fn present(&self, name: usize, id: usize) -> Option<(u64, u64)> {
        let present = |store: &dyn Store| {
            let stored = store.get(NAMES[name], &[IDS[id]], Want::Record).ok()?.pop()??;
            Some(stored.version)
        };
        Some((present(self.subject.store())?, present(&self.model)?))
    }

    /// Now and then a document only takes the place of a version: the present one of its id, or one that is not there.
    fn over(&self, name: usize, doc: &Doc) -> Option<(u64, u64)> {
        match doc.body % 8 {
            0 => self.present(name, doc.id),
            1 => Some((u64::MAX, u64::MAX)),
            _ => None,
        }
    }

    fn add(&mut self, name: usize, docs: &[(Doc, Rule)]) -> Outcome {
        let spaces = self.spaces(name);
        let (mut to_store, mut to_model) = (Vec::new(), Vec::new());
        for (doc, rule) in docs {
            let record = doc.record(&spaces, self.time.now());
            let (own, model) = self.policies(name, &record, rule, &spaces);
            let (over, origins) = (self.over(name, doc), self.origins(name, doc.origin));
            let from = |origin: Option<u64>| Record { origin, ..record.clone() };
            let (to, from) = (&mut to_store, from(origins.map(|origins| origins.0)));
            to.push(Addition { over: over.map(|over| over.0), ..Addition::new(from, own) });
            let from = Record { origin: origins.map(|origins| origins.1), ..record };
            to_model.push(Addition { over: over.map(|over| over.1), ..Addition::new(from, model) });
        }
        let ids: BTreeSet<usize> = docs.iter().map(|(doc, _)| doc.id).collect();
        self.note("the same id twice in a call", ids.len() < docs.len());
        let policies: Vec<Policy> = to_model.iter().map(|addition| addition.policy.clone()).collect();
        let answers =
            (self.subject.store().add(NAMES[name], to_store), self.model.add(NAMES[name], to_model));
        self.note("no collection", matches!(answers.1, Err(StoreError::NoCollection { .. })));
        let Some((own, model)) = both("add", answers)? else { return Ok(()) };
        policies.iter().zip(&model).for_each(|(policy, added)| self.note_added(policy, added));
        equal("number of answers", &own.len(), &model.len())?;
        for (own, model) in own.into_iter().zip(model) {
            self.learn(name, &own, &model)?;
            equal("add", &self.translate_added(name, own)?, &model)?;
        }
        Ok(())
    }

    fn note_added(&mut self, policy: &Policy, added: &Added) {
        let judged = matches!(policy, Policy::Unless { judged, .. } if judged.iter().any(|version| *version < u64::MAX));
        let stored = matches!(added, Added::Stored { .. });
        self.note("stored", stored);
        self.note("stored beside judged ones", stored && judged);
        self.note("replaced", matches!(added, Added::Stored { replaced: Some(_), .. }));
        self.note("exists", matches!(added, Added::Exists { .. }));
        self.note("changed", matches!(added, Added::Changed { .. }));
        if let Added::Unjudged(found) = added {
            self.note("unjudged", true);
            self.note("unjudged, and more", found.more);
            self.note("unjudged beside judged ones", judged);
        }
    }

    fn note_rank(&mut self, Rank { distance, keys, .. }: Rank) {
        self.note("found near", distance < Rank::FAR);
        self.note("found by keys alone", distance == Rank::FAR);
        self.note("found by both", distance < Rank::FAR && keys.0 > 0);
        self.note("found at the largest distance", distance == 3);
    }

    /// A rule as the store and as the model understand it: the versions judged have different numbers.
    fn policies(
        &self,
        name: usize,
        record: &Record,
        rule: &Rule,
        spaces: &[SpaceSettings],
    ) -> (Policy, Policy) {
        let (asks, judged, limit) = match rule {
            Rule::Replace => return (Policy::Replace, Policy::Replace),
            Rule::New => return (Policy::New, Policy::New),
            Rule::Unless { asks, judged, limit } => (asks, *judged, *limit),
        };
        let probes = probes(asks, spaces);
        let query = Query { probes, except: Some(record.id.clone()), after: None, limit: usize::MAX };
        let found = self.model.find(NAMES[name], std::slice::from_ref(&query)).unwrap_or_default();
        let candidates =
            found.iter().flat_map(|found| &found.candidates).map(|candidate| candidate.rank.version);
        let mut pairs: Vec<(u64, u64)> = (0..7_u32)
            .cycle()
            .zip(candidates)
            .filter(|(bit, _)| judged >> bit & 1 == 1)
            .filter_map(|(_, model)| Some((self.known.get(&name)?.untranslate(model)?, model)))
            .collect();
        if judged >> 7 == 1 {
            pairs.insert(0, (u64::MAX, u64::MAX));
        }
        let unless = |judged| Policy::Unless { probes: query.probes.clone(), judged, limit };
        (unless(pairs.iter().map(|pair| pair.0).collect()), unless(pairs.iter().map(|pair| pair.1).collect()))
    }

    /// Pairs the versions of what both have stored.
    fn learn(&mut self, name: usize, own: &Added, model: &Added) -> Outcome {
        let (Added::Stored { version: own, .. }, Added::Stored { version: model, .. }) = (own, model) else {
            return Ok(());
        };
        let known = self.known.entry(name).or_default();
        if let Some((last, _)) = known.versions.last_key_value().filter(|(last, _)| own <= last) {
            return Err(format!("version {own} comes after {last}: versions must grow"));
        }
        if *own < known.promised {
            return Err(format!("version {own} is below {}, which `count` had promised", known.promised));
        }
        known.versions.insert(*own, *model);
        Ok(())
    }

    /// Everything that can be seen, once more: what the steps did not happen to look at.
    fn compare_all(&mut self) -> Outcome {
        self.collections()?;
        let all: Vec<usize> = (0..IDS.len()).collect();
        for name in 0..NAMES.len() {
            self.count(name)?;
            self.scan(name, None, usize::MAX, Want::Text)?;
            self.get(name, &all, Want::Text)?;
            let asks = self.everything(name);
            let question = |ask| Question { asks: vec![ask], except: None, go_on: false, limit: usize::MAX };
            self.find(name, &asks.into_iter().map(question).collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// A probe for every signal a step can give a record.
    fn everything(&self, name: usize) -> Vec<Ask> {
        let mut asks: Vec<Ask> = steps::all_keys().map(Ask::Key).collect();
        asks.extend(steps::all_marks().map(Ask::Marks));
        for settings in self.spaces(name) {
            let within = settings.within;
            asks.extend(steps::all_prints().map(|print| Ask::Near {
                space: settings.space.0,
                print,
                within,
            }));
        }
        asks
    }

    /// The spaces of a collection; those of the first kind if there is none, for a call that must fail.
    fn spaces(&self, name: usize) -> Vec<SpaceSettings> {
        let all = self.model.collections().unwrap_or_default();
        let own = all.into_iter().find(|collection| collection.name == NAMES[name]);
        own.unwrap_or_else(|| steps::collection(name, 0, 0)).spaces
    }
}

fn probes(asks: &[Ask], spaces: &[SpaceSettings]) -> Vec<Probe> {
    let probe = |ask: &Ask| match ask {
        Ask::Key(key) => Some(Probe::Key(*key)),
        Ask::Marks(marks) => Some(Probe::Marks(marks.clone())),
        Ask::Near { space, print, within } => {
            let settings = spaces.iter().find(|settings| settings.space == Space(*space))?;
            let fingerprint = print.of_width(settings.width);
            Some(Probe::Near { space: settings.space, fingerprint, within: *within })
        }
    };
    asks.iter().filter_map(probe).collect()
}

/// Both answers, none if both are the same error.
fn both<T: Debug>(
    what: &str,
    answers: (Result<T, StoreError>, Result<T, StoreError>),
) -> Outcome<Option<(T, T)>> {
    match answers {
        (Ok(own), Ok(model)) => Ok(Some((own, model))),
        (Err(own), Err(model)) if std::mem::discriminant(&own) == std::mem::discriminant(&model) => Ok(None),
        (own, model) => Err(format!("{what}: the store says {own:?}, the model {model:?}")),
    }
}

fn same<T: Debug + PartialEq>(
    what: &str,
    answers: (Result<T, StoreError>, Result<T, StoreError>),
) -> Outcome {
    both(what, answers)?.map_or(Ok(()), |(own, model)| equal(what, &own, &model))
}

fn equal<T: Debug + PartialEq>(what: &str, own: &T, model: &T) -> Outcome {
    if own == model {
        return Ok(());
    }
    Err(format!("{what} differs\n  store: {own:?}\n  model: {model:?}"))
}
