//! The store in Redis beside the way of the documents: sets of `<fingerprint>-<id>` for each 16 bits, EXISTS and SMEMBERS for each
//! block, and comparing in the client.
//!
//! `cargo run --release -p leitong-bench --bin redis -- ADDRESS… [--documents N] [--seconds S] [--threads T,…] [--batch B,…] [--plain]`
//!
//! ADDRESS is that of an empty server or cluster, as for `--db`; several take turns. `ADDRESS+ADDRESS+…` are servers of which each has all
//! documents and answers its share of the questions: what a cluster of as many masters on the same cores is compared with. With `--plain`
//! the other way is measured too, in the first server and in turn, which takes another gigabyte for a million documents. Times of servers
//! are what they say of themselves.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use leitong_fingerprint::Fingerprint;
use leitong_store::redis::{Options, Redis, ServerStats};
use leitong_store::{Addition, Collection, Policy, Probe, Query, Record, Space, SpaceSettings, Store};
use redis::Commands;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const NAME: &str = "bench";
const WITHIN: u32 = 3;
/// Documents that are added in one call.
const TOGETHER: u64 = 512;
/// One question in so many is for something near a document.
const NEAR: u64 = 10;
/// How often each way has its turn.
const ROUNDS: usize = 3;
/// From one call's first question to the next one's.
const STRIDE: u64 = 64;

struct Arguments {
    addresses: Vec<String>,
    documents: u64,
    seconds: u64,
    threads: Vec<usize>,
    batches: Vec<usize>,
    plain: bool,
}

/// Servers that are asked in turn, each of which has everything; or a cluster.
struct Side {
    name: String,
    stores: Vec<Redis>,
}

impl Side {
    fn open(name: &str) -> Result<Self> {
        let open = |address| Redis::open(address, Options::default());
        Ok(Self {
            name: name.into(),
            stores: name.split('+').map(open).collect::<std::result::Result<_, _>>()?,
        })
    }

    /// Who answers a question.
    fn store(&self, question: u64) -> &Redis {
        &self.stores[(question / STRIDE) as usize % self.stores.len()]
    }

    /// What all servers have of something, by their own account.
    fn sum<N: std::iter::Sum>(&self, of: impl Fn(&ServerStats) -> N) -> Result<N> {
        let mut all = Vec::new();
        for store in &self.stores {
            all.extend(store.stats()?.servers.iter().map(&of));
        }
        Ok(all.into_iter().sum())
    }

    fn memory(&self) -> Result<u64> {
        self.sum(|server| server.memory)
    }

    /// Microseconds that all servers have worked.
    fn worked(&self) -> Result<f64> {
        self.sum(|server| server.worked.as_secs_f64() * 1e6)
    }

    /// Fills each of its stores, and says what that takes.
    fn fill(&self, documents: u64) -> Result<()> {
        println!("{}", self.name);
        let spaces = vec![SpaceSettings { space: Space::DOCUMENTS, width: 64, within: WITHIN }];
        let collection = Collection { name: NAME.into(), recipe: [0; 16], about: String::new(), spaces };
        for store in &self.stores {
            store.create(&collection)?;
            let before = self.memory()?;
            if fill(store, documents)? > 0 {
                let (used, index) = (self.memory()?.saturating_sub(before), index_bytes(store)?);
                let each = |bytes: u64| bytes as f64 / documents as f64;
                println!("  {:.1} bytes a document, {:.1} of them the index", each(used), each(index));
            }
        }
        Ok(())
    }
}

fn main() -> Result<()> {
    let arguments = arguments()?;
    let sides = arguments.addresses.iter().map(|name| Side::open(name)).collect::<Result<Vec<_>>>()?;
    for side in &sides {
        side.fill(arguments.documents)?;
    }
    if arguments.plain {
        let before = sides[0].memory()?;
        fill_plain(&arguments)?;
        let used = sides[0].memory()?.saturating_sub(before);
        println!("sets of members: {:.1} bytes a document", used as f64 / arguments.documents as f64);
    }
    for _ in 0..ROUNDS {
        for &threads in &arguments.threads {
            if arguments.plain {
                check_plain(&sides[0], &arguments, threads)?;
            }
            for &batch in &arguments.batches {
                for side in &sides {
                    check(side, &arguments, threads, batch)?;
                }
            }
        }
    }
    for &threads in &arguments.threads {
        for side in &sides {
            add_unless(side, &arguments, threads)?;
        }
    }
    Ok(())
}

fn arguments() -> Result<Arguments> {
    let mut arguments = Arguments {
        addresses: Vec::new(),
        documents: 1_000_000,
        seconds: 5,
        threads: vec![1, 4],
        batches: vec![1, 16],
        plain: false,
    };
    let numbers =
        |list: String| list.split(',').map(str::parse).collect::<std::result::Result<Vec<usize>, _>>();
    let mut given = std::env::args().skip(1);
    while let Some(argument) = given.next() {
        let mut value = || given.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--documents" => arguments.documents = value()?.parse()?,
            "--seconds" => arguments.seconds = value()?.parse()?,
            "--threads" => arguments.threads = numbers(value()?)?,
            "--batch" => arguments.batches = numbers(value()?)?,
            "--plain" => arguments.plain = true,
            address => arguments.addresses.push(address.into()),
        }
    }
    match arguments.addresses.is_empty() {
        true => Err("name the address of a server".into()),
        false => Ok(arguments),
    }
}

/// Numbers that look random and are the same in every run.
fn print(number: u64) -> u64 {
    let x = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// What is asked for: now and then something near a document, otherwise something new.
fn asked(number: u64, documents: u64) -> u64 {
    match number.is_multiple_of(NEAR) {
        true => print(number % documents) ^ 1 << (number % 64) ^ 1 << (number / 7 % 64),
        false => print(number + (1 << 40)),
    }
}

fn record(number: u64) -> Record {
    let mut record = Record { id: format!("article/{number}"), ..Record::default() };
    record.signals.near.push((Space::DOCUMENTS, Fingerprint::from(print(number))));
    record
}

fn probe(print: u64) -> Probe {
    Probe::Near { space: Space::DOCUMENTS, fingerprint: print.into(), within: WITHIN }
}

/// Adds what is not there yet; how many that were.
fn fill(store: &Redis, documents: u64) -> Result<u64> {
    let start = Instant::now();
    let from = store.count(NAME)?.documents;
    for first in (from..documents).step_by(TOGETHER as usize) {
        let numbers = first..documents.min(first + TOGETHER);
        store.add(NAME, numbers.map(|number| Addition::new(record(number), Policy::Replace)).collect())?;
    }
    let (added, seconds) = (documents.saturating_sub(from), start.elapsed().as_secs_f64());
    println!("  added {added} documents in {seconds:.1} s: {:.0}/s", added as f64 / seconds);
    Ok(added)
}

/// The sets that a fingerprint is in: the original has one name for all four blocks.
fn sets(print: u64) -> [String; 4] {
    [0, 16, 32, 48].map(|shift| format!("cms-duplicate-{:016b}", print >> shift & 0xffff))
}

fn connection(arguments: &Arguments) -> Result<redis::Connection> {
    let address = arguments.addresses[0].split('+').next().unwrap_or_default();
    Ok(redis::Client::open(address.split('?').next().unwrap_or_default())?.get_connection()?)
}

fn fill_plain(arguments: &Arguments) -> Result<()> {
    let mut connection = connection(arguments)?;
    for first in (0..arguments.documents).step_by(TOGETHER as usize) {
        let mut pipe = redis::pipe();
        for number in first..arguments.documents.min(first + TOGETHER) {
            let print = print(number);
            sets(print)
                .iter()
                .for_each(|set| _ = pipe.sadd(set, format!("{print}-article/{number}")).ignore());
        }
        pipe.query::<()>(&mut connection)?;
    }
    Ok(())
}

/// What the keys of the index take on all servers, by their own account.
fn index_bytes(store: &Redis) -> Result<u64> {
    let mut bytes = 0;
    for server in &store.stats()?.servers {
        let mut connection = redis::Client::open(format!("redis://{}", server.name))?.get_connection()?;
        let mut cursor = 0_u64;
        loop {
            let mut scan = redis::cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg("leitong:1:n*").arg("COUNT").arg(1000);
            let (next, keys): (u64, Vec<String>) = scan.query(&mut connection)?;
            let mut pipe = redis::pipe();
            keys.iter().for_each(|key| _ = pipe.cmd("MEMORY").arg("USAGE").arg(key));
            let of_keys: Vec<Option<u64>> =
                if keys.is_empty() { Vec::new() } else { pipe.query(&mut connection)? };
            bytes += of_keys.into_iter().flatten().sum::<u64>();
            cursor = next;
            if cursor == 0 {
                break;
            }
        }
    }
    Ok(bytes)
}

/// Runs `work` in threads until the time is over; it gives how many it has done.
fn load(
    side: &Side,
    name: &str,
    (threads, seconds): (usize, u64),
    work: &(dyn Fn(u64) -> Result<u64> + Sync),
) -> Result<()> {
    let (over, done, failed) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let (next, busy, start) = (AtomicU64::new(0), side.worked()?, Instant::now());
    let mut times: Vec<Duration> = std::thread::scope(|scope| {
        let thread = || {
            let mut times = Vec::new();
            while !over.load(Relaxed) {
                let start = Instant::now();
                match work(next.fetch_add(STRIDE, Relaxed)) {
                    Ok(number) => _ = done.fetch_add(number, Relaxed),
                    Err(_) => _ = failed.fetch_add(1, Relaxed),
                }
                times.push(start.elapsed());
            }
            times
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(thread)).collect();
        std::thread::sleep(Duration::from_secs(seconds));
        over.store(true, Relaxed);
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    });
    let (done, elapsed) = (done.load(Relaxed) as f64, start.elapsed().as_secs_f64());
    times.sort_unstable();
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).map_or(0, Duration::as_micros);
    println!(
        "{}: {name}, {threads} threads: {:.0}/s; a call {} µs p50, {} p99; {:.1} µs of servers each; {} failed",
        side.name,
        done / elapsed,
        at(0.5),
        at(0.99),
        (side.worked()? - busy) / done.max(1.0),
        failed.load(Relaxed),
    );
    Ok(())
}

fn check(side: &Side, arguments: &Arguments, threads: usize, batch: usize) -> Result<()> {
    let found = AtomicU64::new(0);
    load(side, &format!("check, {batch} a call"), (threads, arguments.seconds), &|first| {
        let query = |number| Query {
            probes: vec![probe(asked(number, arguments.documents))],
            limit: 10,
            ..Query::default()
        };
        let queries: Vec<Query> = (first..first + batch as u64).map(query).collect();
        let answers = side.store(first).find(NAME, &queries)?;
        found.fetch_add(answers.iter().map(|found| found.candidates.len() as u64).sum(), Relaxed);
        Ok(batch as u64)
    })?;
    println!("  {} found", found.load(Relaxed));
    Ok(())
}

thread_local! {
    static CONNECTION: RefCell<Option<redis::Connection>> = const { RefCell::new(None) };
}

fn check_plain(side: &Side, arguments: &Arguments, threads: usize) -> Result<()> {
    let found = AtomicU64::new(0);
    load(side, "EXISTS, SMEMBERS and comparing", (threads, arguments.seconds), &|number| {
        CONNECTION.with_borrow_mut(|own| {
            let connection = match own {
                Some(connection) => connection,
                None => own.insert(connection(arguments)?),
            };
            let print = asked(number, arguments.documents);
            let mut near: Vec<String> = Vec::new();
            for set in sets(print) {
                if connection.exists(&set)? {
                    let members: Vec<String> = connection.smembers(&set)?;
                    near.extend(members.into_iter().filter(|member| {
                        let own = member.split_once('-').and_then(|(own, _)| own.parse::<u64>().ok());
                        own.is_some_and(|own| (own ^ print).count_ones() <= WITHIN)
                    }));
                }
            }
            near.sort_unstable();
            near.dedup();
            found.fetch_add(near.len() as u64, Relaxed);
            Ok(1)
        })
    })?;
    println!("  {} found", found.load(Relaxed));
    Ok(())
}

fn add_unless(side: &Side, arguments: &Arguments, threads: usize) -> Result<()> {
    let (next, stored) = (AtomicU64::new(2 << 40), AtomicU64::new(0));
    load(side, "add unless there is something near", (threads, arguments.seconds), &|_| {
        let number = next.fetch_add(STRIDE, Relaxed);
        let record = record(number);
        let probes = record.signals.near.iter().map(|(_, own)| probe(own.low64())).collect();
        let policy = Policy::Unless { probes, judged: Vec::new(), limit: 1 };
        let added = side.store(number).add(NAME, vec![Addition::new(record, policy)])?;
        stored.fetch_add(added.len() as u64, Relaxed);
        Ok(1)
    })
}
