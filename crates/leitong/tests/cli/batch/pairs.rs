use super::*;

#[test]
fn every_pair_once_with_its_scores() {
    let room = Room::new();
    room.jsonl("in.jsonl", &five());
    let run = room.good(&["pairs", "in.jsonl", "--json"]);
    let mut found: Vec<(String, String, String)> = run
        .json()
        .iter()
        .map(|pair| {
            for share in ["jaccard", "containment", "a_in_b", "b_in_a", "rare"] {
                assert!((0.0..=1.0).contains(&pair[share].as_f64().unwrap()), "{share}: {pair}");
            }
            assert!(pair["distance"].is_u64() && !pair["rule"].as_str().unwrap().is_empty(), "{pair}");
            let field = |name: &str| pair[name].as_str().unwrap().to_owned();
            (field("a"), field("b"), field("verdict"))
        })
        .collect();
    found.sort();
    let expected = [("b", "a", "exact"), ("d", "a", "near"), ("d", "b", "near"), ("e", "c", "near")];
    let expected = expected.map(|(a, b, verdict)| (a.to_owned(), b.to_owned(), verdict.to_owned()));
    assert_eq!(found, expected);
    let exact = &run.json()[0];
    assert_eq!((exact["distance"].as_u64(), exact["jaccard"].as_f64()), (Some(0), Some(1.0)));
}

#[test]
fn columns_and_files() {
    let room = Room::new();
    room.jsonl("in.jsonl", &five());
    let run = room.good(&["pairs", "in.jsonl"]);
    assert_eq!(run.lines()[0], "b\ta\texact\t0\t1.000\t1.000");
    assert!(run.lines().iter().all(|line| line.split('\t').count() == 6), "{}", run.out);
    room.good(&["pairs", "in.jsonl", "-o", "pairs.tsv"]);
    assert_eq!(room.read("pairs.tsv"), run.out);
    assert_eq!(room.names(), ["in.jsonl", "pairs.tsv"], "nothing is left behind");
}

#[test]
fn passages_are_places_in_both_texts() {
    let room = Room::new();
    room.jsonl("in.jsonl", &five());
    let run = room.good(&["pairs", "in.jsonl", "--json", "--passages"]);
    let pair = run.json().into_iter().find(|pair| pair["a"] == "e").unwrap();
    let cut = |text: &str, range: &Value| {
        let place = |at: usize| range[at].as_u64().unwrap() as usize;
        text.chars().skip(place(0)).take(place(1) - place(0)).collect::<String>()
    };
    let passage = &pair["passages"][0];
    let (a, b) = (cut(&edited(2), &passage["a"]), cut(&text(2), &passage["b"]));
    assert_eq!(a.chars().take(30).collect::<String>(), b.chars().take(30).collect::<String>());
}

#[test]
fn quotes_are_no_duplicates() {
    let room = Room::new();
    let quoting = format!("{}{}", text(3), text(1).chars().take(120).collect::<String>());
    let long = format!("{}{}{}", text(4), text(1), text(5));
    room.jsonl("in.jsonl", &[document("q", &quoting), document("l", &long), document("x", &text(9))]);
    let all = room.good(&["pairs", "in.jsonl", "--json"]).json();
    assert_eq!(all.len(), 1);
    assert_eq!(all[0]["verdict"], "quotes");
    assert!(room.good(&["pairs", "in.jsonl", "--duplicates"]).out.is_empty());
    assert_eq!(room.run(&["pairs", "in.jsonl", "--fail-on-duplicate"]).code, 0);
}

#[test]
fn duplicates_can_fail_a_script() {
    let room = Room::new();
    room.jsonl("in.jsonl", &five());
    assert_eq!(room.run(&["pairs", "in.jsonl", "--fail-on-duplicate"]).code, 1);
}

#[test]
fn many_equal_texts_are_not_squared() {
    let room = Room::new();
    let copies: Vec<Value> = (0..1500).map(|at| document(&at.to_string(), &text(1))).collect();
    room.jsonl("in.jsonl", &copies);
    let run = room.good(&["pairs", "in.jsonl"]);
    assert_eq!(run.lines().len(), 1000 * 999 / 2 + 500);
    assert!(run.err.contains("500 documents") && run.err.contains("--all-pairs"), "{}", run.err);
}

#[test]
fn clusters_are_stars() {
    let room = Room::new();
    room.jsonl("in.jsonl", &five());
    let run = room.good(&["cluster", "in.jsonl"]);
    let rows: Vec<Vec<&str>> = run.lines().iter().map(|line| line.split('\t').take(3).collect()).collect();
    assert_eq!(rows, [["a", "1", "a"], ["b", "1", "a"], ["c", "2", "c"], ["d", "1", "a"], ["e", "2", "c"]]);
    let json = room.good(&["cluster", "in.jsonl", "--json", "--keep", "longest", "-o", "c.jsonl"]);
    assert!(json.out.is_empty());
    let lines = room.json("c.jsonl");
    assert_eq!(lines.len(), 5);
    let centre = lines.iter().find(|line| line["id"] == line["centre"]).unwrap();
    assert_eq!((&centre["distance"], &centre["size"]), (&json!(0), &json!(3)));
    let member = lines.iter().find(|line| line["id"] != line["centre"]).unwrap();
    assert!(member["verdict"].is_string() && member["jaccard"].is_f64(), "{member}");
    room.jsonl("alone.jsonl", &[document("1", &text(7)), document("2", &text(8))]);
    assert_eq!(room.good(&["cluster", "alone.jsonl"]).lines().len(), 2);
    assert!(room.good(&["cluster", "alone.jsonl", "--groups"]).out.is_empty());
}

#[test]
fn by_distance_alone() {
    let room = Room::new();
    room.jsonl("in.jsonl", &many(400));
    let near = room.good(&["pairs", "in.jsonl", "--json", "--judge", "distance", "--distance", "8"]).json();
    assert!(near.iter().all(|pair| pair["distance"].as_u64().unwrap() <= 8), "{near:?}");
    assert!(
        near.iter().any(|pair| pair["distance"] != 0 && pair["rule"].as_str().unwrap().contains("at most 8"))
    );
    // Whatever the evidence finds within those bits is among them.
    let both =
        |pair: &Value| (pair["a"].as_str().unwrap().to_owned(), pair["b"].as_str().unwrap().to_owned());
    let found: std::collections::BTreeSet<_> = near.iter().map(both).collect();
    assert_eq!(found.len(), near.len(), "each pair once");
    let all = room.good(&["pairs", "in.jsonl", "--json"]).json();
    let within: Vec<&Value> =
        all.iter().filter(|pair| pair["distance"].as_u64().is_some_and(|bits| bits <= 8)).collect();
    assert!(within.len() > 50 && within.iter().all(|pair| found.contains(&both(pair))));
}
