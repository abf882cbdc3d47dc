//! What is done to a store: several threads, each with ids of its own and some that all contend for.

use crate::Random;
use crate::calls::{Call, Caller, How};
use crate::documents::{DUPLICATE, Doc, Size, contested, new_seed};
use leitong_store::StoreError;
use std::str::FromStr;

/// Threads that add and remove.
pub(crate) const THREADS: u64 = 4;
/// Ids of each.
const OWN: u64 = 100;
/// Ids that all of them use.
const SHARED: u64 = 12;

/// What one run does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    /// The time, which is the number of the round.
    pub(crate) now: i64,
    /// Calls of each thread.
    pub(crate) calls: u64,
    /// Whether texts are so large that the trees' files are written while it runs.
    pub(crate) heavy: bool,
    /// Whether another thread compacts and makes backups.
    pub(crate) tidy: bool,
}

impl std::fmt::Display for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { seed, now, calls, heavy, tidy } = self;
        write!(f, "{seed} {now} {calls} {heavy} {tidy}")
    }
}

impl FromStr for Plan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split(' ').collect();
        let wrong = || format!("not a plan: {text:?}");
        let [seed, now, calls, heavy, tidy] = words[..] else { return Err(wrong()) };
        let number = |word: &str| word.parse::<u64>().map_err(|_| wrong());
        Ok(Self {
            seed: number(seed)?,
            now: number(now)? as i64,
            calls: number(calls)?,
            heavy: heavy == "true",
            tidy: tidy == "true",
        })
    }
}

/// Does it all, until it is done or something fails.
pub(crate) fn run(caller: &Caller<'_>, plan: Plan) -> Result<(), StoreError> {
    std::thread::scope(|scope| {
        let work = |thread| scope.spawn(move || Worker::new(caller, plan, thread).work());
        let mut running: Vec<_> = (0..THREADS).map(work).collect();
        if plan.tidy {
            running.push(scope.spawn(move || tidy(caller, plan)));
        }
        running.into_iter().try_for_each(|thread| thread.join().expect("a thread that does not panic"))
    })
}

fn tidy(caller: &Caller<'_>, plan: Plan) -> Result<(), StoreError> {
    let mut random = Random::new(plan.seed ^ 0x71d7);
    // Few: compacting and copying are long, and a run that is let end must end.
    for number in 0..plan.calls.min(8) {
        let call = match random.below(3) {
            0 => Call::Backup(format!("backup-{}-{number}", plan.now)),
            _ => Call::Compact,
        };
        caller.call(&call, &[])?;
    }
    Ok(())
}

struct Worker<'a> {
    caller: &'a Caller<'a>,
    plan: Plan,
    thread: u64,
    random: Random,
}

impl<'a> Worker<'a> {
    fn new(caller: &'a Caller<'a>, plan: Plan, thread: u64) -> Self {
        let seed = Random::new(plan.seed.wrapping_add(thread << 32)).next();
        Self { caller, plan, thread, random: Random::new(seed) }
    }

    fn work(mut self) -> Result<(), StoreError> {
        (0..self.plan.calls).try_for_each(|_| self.step())
    }

    fn step(&mut self) -> Result<(), StoreError> {
        let call = match self.random.below(20) {
            0..6 => Call::Add(How::Replace, self.docs(1)),
            6..9 => Call::Add(How::New, self.docs(1)),
            9..12 => Call::Add(How::Replace, self.docs(16)),
            12 => Call::Add(How::New, self.docs(6)),
            13..16 => Call::Remove((0..=self.random.below(3)).map(|_| self.own()).collect()),
            16..19 => return self.contend(),
            _ => Call::Remove(vec![contested(self.random.below(SHARED))]),
        };
        self.caller.call(&call, &[]).map(|_| ())
    }

    /// The optimistic loop: whoever is told of others judges them and comes again, unless it is a duplicate.
    fn contend(&mut self) -> Result<(), StoreError> {
        let doc = Doc { id: contested(self.random.below(SHARED)), seed: self.seed() };
        let call = Call::Add(How::Unless, vec![doc]);
        let mut judged = Vec::new();
        loop {
            let (_, minds) = self.caller.call(&call, &judged)?;
            if minds.is_empty() || minds.iter().any(|(_, distance)| *distance <= DUPLICATE) {
                return Ok(());
            }
            judged.extend(minds.iter().map(|(version, _)| *version));
        }
    }

    fn own(&mut self) -> String {
        format!("{}-{}", self.thread, self.random.below(OWN))
    }

    /// One to `most` documents.
    fn docs(&mut self, most: u64) -> Vec<Doc> {
        (0..=self.random.below(most)).map(|_| Doc { id: self.own(), seed: self.seed() }).collect()
    }

    fn seed(&mut self) -> u64 {
        let size = match self.random.below(8) {
            _ if self.plan.heavy => Size::Book,
            0 => Size::None,
            1..4 => Size::Short,
            4..7 => Size::Page,
            _ => Size::Book,
        };
        // Those that expire do so some rounds later.
        let later = self.plan.now as u64 + 1 + self.random.below(6);
        let expires = if self.random.one_in(4) { later as u16 } else { 0 };
        new_seed(&mut self.random, size, expires)
    }
}
