//! The same commands on a folder and on real servers give the same answers: verdicts, order, evidence and clusters.

use super::super::leitong_in;
use super::Room;
use serde_json::{Value, json};
use xtask::servers::{Kind, Redis, RedisCluster, Search};

/// Numbers that look random and are the same in every run.
fn mix(seed: u64) -> u64 {
    let x = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ x >> 31
}

/// A text of so many sentences that looks like none of another seed.
fn text(seed: u64, sentences: u64) -> String {
    let character = |at: u64| char::from_u32(0x4e00 + (mix(seed << 20 | at) % 3000) as u32).unwrap();
    let sentence = |number: u64| (0..18).map(|at| character(number * 100 + at)).collect::<String>() + "。";
    (0..sentences).map(sentence).collect()
}

/// Originals, and what becomes of them: copies, edits, quotations, forms with other numbers.
fn documents() -> Vec<Value> {
    let mut documents = Vec::new();
    for base in 0..24_u64 {
        let original = text(base, 14);
        let mut changed = original.clone();
        changed.replace_range(30..33, "改");
        let quoting = text(base + 100, 8) + &text(base, 5) + &text(base + 200, 8);
        let form = format!("{}本期共受理{}件，办结{}件。", text(999, 10), base * 37 + 11, base * 31 + 7);
        let kinds = [
            ("original", original.clone()),
            ("copy", original),
            ("edit", changed),
            ("quote", quoting),
            ("form", form),
        ];
        for (kind, text) in kinds {
            documents.push(
                json!({ "id": format!("{kind}-{base}/{:x}", mix(base) >> 56), "text": text, "title": kind }),
            );
        }
    }
    // Not in the order of ids.
    documents.sort_by_key(|document| mix(document["id"].as_str().unwrap().bytes().map(u64::from).sum()));
    documents
}

/// What commands say, without what a store may number as it likes.
fn answers(room: &Room, db: &str) -> Vec<String> {
    let commands: [&[&str]; 12] = [
        &["add", "first.jsonl", "--json", "--cluster"],
        &["add", "second.jsonl", "--unless-duplicate", "--json"],
        &["check", "all.jsonl", "--json"],
        &["similar", "original-3/", "--json"],
        &["clusters", "--json"],
        &["remove", "original-3/", "original-4/", "nobody", "--json"],
        &["check", "all.jsonl", "--json", "--evidence"],
        &["dedup", "all.jsonl", "-o", "left.jsonl", "--json"],
        &["add", "second.jsonl", "--json"],
        &[
            "add",
            "all.jsonl",
            "--unless-duplicate",
            "--collection",
            "by distance",
            "--judge",
            "distance",
            "--json",
        ],
        &["check", "all.jsonl", "--collection", "by distance", "--json"],
        &["export"],
    ];
    let mut said = Vec::new();
    for command in commands {
        let known = std::fs::read_to_string(room.path().join("ids")).unwrap();
        let whole = |part: &&str| {
            known.lines().find(|id| part.ends_with('/') && id.starts_with(*part)).map(str::to_owned)
        };
        let mut arguments: Vec<String> =
            command.iter().map(|part| whole(part).unwrap_or((*part).to_owned())).collect();
        let flag = if command[0] == "dedup" { "--against" } else { "--db" };
        arguments.extend([flag.to_owned(), db.to_owned()]);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let run = leitong_in(room.path(), &arguments, "");
        assert!(run.code <= 1, "{db}: {arguments:?}: {}", run.err);
        said.extend(run.out.lines().map(|line| format!("{}: {}", command[0], without_numbers(line))));
    }
    said.push(std::fs::read_to_string(room.path().join("left.jsonl")).unwrap());
    said
}

fn without_numbers(line: &str) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(line) else { return line.to_owned() };
    if let Some(object) = value.as_object_mut() {
        ["version", "replaced", "documents_per_second", "peak_bytes", "seconds"].iter().for_each(|field| {
            object.remove(*field);
        });
    }
    value.to_string()
}

fn room() -> Room {
    let room = Room::new();
    let all = documents();
    let (first, second) = all.split_at(all.len() / 2);
    [("first.jsonl", first), ("second.jsonl", second), ("all.jsonl", &all)]
        .iter()
        .for_each(|(name, documents)| room.jsonl(name, documents));
    let ids: Vec<&str> = all.iter().map(|document| document["id"].as_str().unwrap()).collect();
    room.write("ids", ids.join("\n"));
    room
}

/// A server says what a folder says.
fn as_a_folder(db: &str) {
    let room = room();
    let (own, expected) = (answers(&room, db), answers(&room, "folder"));
    let duplicates = expected.iter().filter(|line| line.contains("\"duplicate\":true")).count();
    assert!(duplicates > 50, "only {duplicates} duplicates: this proves little");
    for (at, (own, expected)) in own.iter().zip(&expected).enumerate() {
        assert_eq!(own, expected, "{db}: line {at} of {}", expected.len());
    }
    assert_eq!(own.len(), expected.len(), "{db}");
}

#[test]
fn redis_says_what_a_folder_says() {
    let Some(server) = Redis::start(&[]) else {
        println!("skipped: redis_says_what_a_folder_says (Redis is not installed: cargo xtask servers)");
        return;
    };
    as_a_folder(&format!("redis://127.0.0.1:{}", server.port()));
}

#[test]
fn a_redis_cluster_says_what_a_folder_says() {
    let Some(cluster) = RedisCluster::start(3, 0, &[]) else {
        println!(
            "skipped: a_redis_cluster_says_what_a_folder_says (Redis is not installed: cargo xtask servers)"
        );
        return;
    };
    as_a_folder(&format!("redis-cluster://127.0.0.1:{}", cluster.nodes()[0].port()));
}

#[test]
fn opensearch_says_what_a_folder_says() {
    if std::env::var_os("LEITONG_QUICK").is_some() {
        println!("skipped: opensearch_says_what_a_folder_says (it takes long to start: cargo xtask test)");
        return;
    }
    let Some(search) = Search::start(Kind::OpenSearch2) else {
        println!("skipped: opensearch_says_what_a_folder_says (not installed: cargo xtask servers)");
        return;
    };
    // The first node is one that is not there.
    as_a_folder(&search.url().replace("http://", "opensearch+http://127.0.0.1:1,"));
}

/// What is wrong with a server is said, and what to do; a password never.
#[test]
fn servers_that_are_not_there() {
    let room = Room::new();
    for (db, said) in [
        ("redis://me:secret@127.0.0.1:1", "does not answer"),
        ("redis-cluster://:secret@127.0.0.1:1", "does not answer"),
        ("opensearch+http://me:secret@127.0.0.1:1", "does not answer"),
        ("redis://127.0.0.1:1?colour=blue", "is no option"),
        ("mysql://127.0.0.1", "there is no such store"),
    ] {
        let run = leitong_in(room.path(), &["stats", "--db", db], "");
        assert_eq!(run.code, 3, "{db}: {}", run.err);
        assert!(run.err.contains(said) && !run.err.contains("secret"), "{db}: {}", run.err);
    }
    let not_there: [(&[&str], &str, &str); 5] = [
        (&["backup", "there"], "redis", "leitong export"),
        (&["compact"], "opensearch+http", "leitong export"),
        (&["check-db"], "opensearch+http", "leitong export"),
        (&["compact"], "redis", "does not answer"),
        (&["check-db"], "redis", "does not answer"),
    ];
    for (command, scheme, said) in not_there {
        let db = format!("{scheme}://me:secret@127.0.0.1:1");
        let run = leitong_in(room.path(), &[command, &["--db", &db]].concat(), "");
        assert_eq!(run.code, 3, "{command:?}: {}", run.err);
        assert!(run.err.contains(said) && !run.err.contains("secret"), "{command:?}: {}", run.err);
    }
}

/// What stands in Redis is compared, mended and tidied up like a folder.
#[test]
fn redis_is_checked_and_mended() {
    let Some(server) = Redis::start(&[]) else {
        println!("skipped: redis_is_checked_and_mended (Redis is not installed: cargo xtask servers)");
        return;
    };
    let room = Room::new();
    room.jsonl("all.jsonl", &documents()[..20]);
    let address = format!("redis://127.0.0.1:{}?prefix=checked", server.port());
    let say = |command: &str| {
        let run =
            leitong_in(room.path(), &[command.split(' ').collect(), vec!["--db", &address]].concat(), "");
        (run.code, run.out + &run.err)
    };
    assert_eq!(say("add all.jsonl").0, 0);
    let (code, said) = say("check-db");
    assert!(code == 0 && said.contains("20 records and 20 texts read, 0 problems"), "{code}: {said}");
    let (code, said) = say("compact");
    assert!(code == 0 && said.starts_with("compacted\tredis://"), "{code}: {said}");
    // Somebody takes a text away, and puts something of their own into the index.
    _ = server.ask(&[
        "EVAL",
        "redis.call('HDEL', KEYS[1], redis.call('HKEYS', KEYS[1])[1])",
        "1",
        "checked:{1.0}:texts",
    ]);
    _ = server.ask(&["SET", "checked:1:m0", "what nobody wrote"]);
    let (code, said) = say("check-db --json");
    let found: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, &found["ok"], &found["problem_count"]), (3, &json!(false), &json!(2)), "{said}");
    let (code, said) = say("check-db --repair");
    assert!(code == 3 && said.contains("mended") && said.contains("the text of"), "{code}: {said}");
    assert!(said.contains("still damaged") && said.contains("1 problem;"), "{said}");
    assert_eq!(say("backup copy").0, 3, "is for folders");
}

/// The library of a CMS is taken over and written again.
#[test]
fn the_keys_of_a_cms() {
    let Some(server) = Redis::start(&[]) else {
        println!("skipped: the_keys_of_a_cms (Redis is not installed: cargo xtask servers)");
        return;
    };
    let room = Room::new();
    let address = format!("redis://127.0.0.1:{}", server.port());
    room.write("words.txt", "");
    room.jsonl("all.jsonl", &documents()[..40]);
    let good = |arguments: &[&str]| {
        let run = leitong_in(room.path(), arguments, "");
        assert_eq!(run.code, 0, "{arguments:?}: {}", run.err);
        run.out
    };
    good(&["add", "all.jsonl", "--db", "old", "--recipe", "cms-redis", "--no-text"]);
    assert!(good(&["export", "--db", "old", "--to", "cms-redis", "-o", &address]).contains("40 documents"));
    assert!(good(&["import", "--from", "cms-redis", &address, "--db", "new"]).contains("40 documents"));
    let simhashes = |db: &str| {
        let lines = good(&["export", "--db", db]);
        let of = |line: &str| {
            let value: Value = serde_json::from_str(line).unwrap();
            (value["id"].clone(), value["simhash"].clone(), value["recipe"].clone())
        };
        lines.lines().map(of).collect::<Vec<_>>()
    };
    assert_eq!(simhashes("old"), simhashes("new"));
    let check = good(&["check", "all.jsonl", "--db", "new", "--json"]);
    assert!(check.contains("\"duplicate\":true"), "{check}");
    // Something else under a key like theirs is named, and so is a member that is none; the rest is taken over.
    let (list, set) = ("{cms}-duplicate-0101010101010101", "{cms}-duplicate-1010101010101010");
    let _ = server.ask(&["DEL", list, set]);
    let _ = server.ask(&["RPUSH", list, "21845-a"]);
    let _ = server.ask(&["SADD", set, "nothing"]);
    let run = leitong_in(room.path(), &["import", "--from", "cms-redis", &address, "--db", "newer"], "");
    assert!(run.err.contains(&format!("{list}: a list, not a set")), "{}", run.err);
    assert!(run.err.contains(&format!("{set}: \"nothing\" is no fingerprint")), "{}", run.err);
    assert!(run.out.contains("40 documents"), "{}", run.out);
    // More of one kind than are named are counted.
    for member in 0..7 {
        let _ = server.ask(&["SADD", set, &format!("nothing {member}")]);
    }
    // A refused import leaves no collection behind, and no message shows the password.
    let with_password = address.replace("redis://", "redis://:secret@");
    let _ = server.ask(&["ACL", "SETUSER", "default", "on", ">secret"]);
    let import = ["import", "--from", "cms-redis", &with_password, "--db", "newest"];
    let other = [&import[..], &["--recipe", "leitong-1"]].concat();
    let run = leitong_in(room.path(), &other, "");
    assert!(run.code == 3 && run.err.contains("made with --recipe cms-redis"), "{}", run.err);
    let run = leitong_in(room.path(), &import, "");
    assert_eq!(run.code, 3, "{}", run.err);
    assert!(!run.err.contains("secret"), "{}", run.err);
    assert!(run.err.contains("and 4 more like these"), "{}", run.err);
    // Fingerprints that are made in another way do not stand beside theirs.
    good(&["add", "all.jsonl", "--db", "ours"]);
    for (arguments, name) in [
        (&["import", "--from", "cms-redis", &with_password, "--db", "ours"][..], "import"),
        (&["export", "--db", "ours", "--to", "cms-redis", "-o", &with_password], "export"),
    ] {
        let run = leitong_in(room.path(), arguments, "");
        assert_eq!(run.code, 3, "{name}: {}", run.err);
        assert!(run.err.contains("made with --recipe cms-redis"), "{name}: {}", run.err);
    }
}

/// Fingerprints in an index of articles that somebody else writes.
#[test]
fn articles_of_an_index() {
    if std::env::var_os("LEITONG_QUICK").is_some() {
        println!("skipped: articles_of_an_index (the server takes long to start: cargo xtask test)");
        return;
    }
    let Some(search) = Search::start(Kind::Elastic7) else {
        println!("skipped: articles_of_an_index (Elasticsearch 7 is not installed: cargo xtask servers)");
        return;
    };
    let room = Room::new();
    let at = search.url().replace("http://", "elasticsearch+http://");
    let (original, other) = (text(1, 12), text(2, 12));
    let put = |id: &str, content: &str| {
        let body =
            json!({ "content": content, "publish_date": format!("2024-05-0{}", id.len()) }).to_string();
        search.request("PUT", &format!("/news/_doc/{id}?refresh=true"), &body).unwrap();
    };
    put("a", &original);
    put("bb", &other);
    let good = |arguments: &[&str], input: &str| {
        let run = leitong_in(room.path(), &[arguments, &["--at", &at, "--index", "news"]].concat(), input);
        assert_eq!(run.code, 0, "{arguments:?}: {}", run.err);
        run.out
    };
    let fill = |more: &[&str]| good(&[&["articles", "fill"], more].concat(), "");
    assert_eq!(fill(&[]), "filled\tnews\t2 read, 2 written, 0 changed meanwhile\n");
    assert_eq!(fill(&[]), "filled\tnews\t0 read, 0 written, 0 changed meanwhile\n");
    room.write("draft.txt", &original);
    let near = || good(&["articles", "near", "draft.txt", "--date", "publish_date"], "");
    assert_eq!(near(), "near\tdraft.txt\ta\tnews\t0\t2024-05-01\n");
    // Written anew: without a fingerprint until the next time.
    put("bb", &original);
    assert_eq!(near().lines().count(), 1);
    assert_eq!(fill(&[]), "filled\tnews\t1 read, 1 written, 0 changed meanwhile\n");
    assert_eq!(near(), "near\tdraft.txt\tbb\tnews\t0\t2024-05-02\nnear\tdraft.txt\ta\tnews\t0\t2024-05-01\n");
    // Changed in part: the old fingerprint stays until all are looked at.
    let change = json!({ "doc": { "content": other } }).to_string();
    search.request("POST", "/news/_update/a?refresh=true", &change).unwrap();
    assert_eq!(fill(&[]), "filled\tnews\t0 read, 0 written, 0 changed meanwhile\n");
    assert_eq!(fill(&["--changed"]), "filled\tnews\t2 read, 1 written, 0 changed meanwhile\n");
    assert_eq!(near(), "near\tdraft.txt\tbb\tnews\t0\t2024-05-02\n");
}
