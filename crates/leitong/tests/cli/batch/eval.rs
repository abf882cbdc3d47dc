use super::*;

fn signal<'v>(object: &'v Value, name: &str) -> &'v Value {
    object["signals"].as_array().unwrap().iter().find(|signal| signal["signal"] == name).unwrap()
}

/// Five documents and what is true of them.
fn room() -> Room {
    let room = Room::new();
    room.jsonl("in.jsonl", &five());
    room.write("pairs.tsv", "a\tb\nb\ta\na\td\nd\tb\nc\te\n");
    room
}

#[test]
fn pairs_and_clusters_say_the_same() {
    let room = room();
    room.write("clusters.csv", "id,cluster\na,1\nb,1\nc,2\nd,1\ne,2\n");
    let lines = [("a", "b"), ("a", "d"), ("b", "d"), ("c", "e")]
        .map(|(a, b)| format!("{}\n", json!({ "a": a, "b": b })));
    room.write("pairs.jsonl", lines.concat());
    let mut first: Option<Value> = None;
    for truth in ["pairs.tsv", "clusters.csv", "pairs.jsonl"] {
        let object =
            room.good(&["eval", "--corpus", "in.jsonl", "--truth", truth, "--json"]).json().remove(0);
        assert_eq!(
            (&object["documents"], &object["true_pairs"], &object["true_pairs_found"]),
            (&json!(5), &json!(4), &json!(4))
        );
        let verdict = &signal(&object, "verdict")["suggested"];
        assert_eq!(
            (&verdict["threshold"], &verdict["recall"], &verdict["precision"]),
            (&json!("near"), &json!(1.0), &json!(1.0))
        );
        for name in ["jaccard", "containment", "distance", "marks"] {
            let best = &signal(&object, name)["best"];
            assert!(best["f1"].as_f64().unwrap() >= 0.85, "{name}: {best}");
        }
        assert_eq!(*first.get_or_insert_with(|| object.clone()), object, "{truth}");
    }
    assert_eq!(
        room.names(),
        ["clusters.csv", "in.jsonl", "pairs.jsonl", "pairs.tsv"],
        "nothing is left behind"
    );
}

#[test]
fn a_table_for_people() {
    let room = room();
    let run = room.good(&["eval", "--corpus", "in.jsonl", "--truth", "pairs.tsv"]);
    for said in [
        "5 documents, 4 true pairs, 4 of them found",
        "every pair that the truth does not name is taken for none",
        "highest recall at a precision of 0.99",
        "by threshold",
        "Suggested: verdict near, which finds 100.0 % of the true pairs",
    ] {
        assert!(run.out.contains(said), "{said}: {}", run.out);
    }
}

#[test]
fn wrong_pairs_cost_precision_and_missed_ones_recall() {
    let room = room();
    // The truth says that d is none, and that a and c are one.
    room.write("truth.tsv", "a\tb\na\tb\nc\te\na\tc\n");
    let object =
        room.good(&["eval", "--corpus", "in.jsonl", "--truth", "truth.tsv", "--json"]).json().remove(0);
    let curve = signal(&object, "verdict")["curve"].as_array().unwrap();
    let near = curve.iter().find(|point| point["threshold"] == "near").unwrap();
    assert_eq!((&near["precision"], &near["recall"]), (&json!(0.5), &json!(0.6667)));
    assert_eq!((&object["true_pairs"], &object["true_pairs_found"]), (&json!(3), &json!(2)));
    let suggested = &signal(&object, "verdict")["suggested"];
    assert_eq!(suggested["threshold"], "exact", "which is right as far as it goes: {suggested}");
}

#[test]
fn where_some_are_labelled_as_none_only_labels_count() {
    let room = room();
    room.write("truth.csv", "id_a,id_b,label\na,b,1\na,c,0\n");
    let object =
        room.good(&["eval", "--corpus", "in.jsonl", "--truth", "truth.csv", "--json"]).json().remove(0);
    assert_eq!((&object["pairs"], &object["other_pairs_known"]), (&json!(2), &json!(1)));
    assert_eq!(signal(&object, "jaccard")["suggested"]["recall"], 1.0);
}

#[test]
fn curves_are_drawn() {
    let room = room();
    room.good(&["eval", "--corpus", "in.jsonl", "--truth", "pairs.tsv", "--plot", "c.svg"]);
    let svg = room.read("c.svg");
    assert!(
        svg.starts_with("<svg")
            && svg.contains("precision by recall")
            && svg.matches("<polyline").count() > 20
    );
    room.good(&["eval", "--corpus", "in.jsonl", "--truth", "pairs.tsv", "--plot", "c.png"]);
    assert!(room.bytes("c.png").starts_with(b"\x89PNG"));
}

#[test]
fn ids_that_are_not_there_are_named() {
    let room = room();
    room.write("truth.tsv", "a\tb\nb\ta\na\tnobody\n");
    let run = room.run(&["eval", "--corpus", "in.jsonl", "--truth", "truth.tsv", "--json"]);
    assert_eq!(run.code, 3);
    assert!(run.err.contains("truth.tsv, line 3: the id \"nobody\" is not in the corpus"), "{}", run.err);
    assert_eq!(run.json()[0]["true_pairs"], 1, "the rest is measured");
    room.good(&["eval", "--corpus", "in.jsonl", "--truth", "truth.tsv", "--on-error", "skip"]);
    let run = room.run(&["eval", "--corpus", "in.jsonl", "--truth", "truth.tsv", "--on-error", "stop"]);
    assert!(run.code == 3 && run.out.is_empty(), "{}", run.out);
}

#[test]
fn a_truth_that_cannot_be_used() {
    let room = room();
    room.write("broken.jsonl", "{\"a\":\"a\",\"b\":\"b\"}\n{\"a\":");
    room.write("half.tsv", "a\tb\na\n");
    room.write("none.tsv", "x\ty\n");
    room.write("empty.csv", "");
    for (truth, said) in [
        ("broken.jsonl", "broken.jsonl, line 2: the line is not JSON"),
        ("half.tsv", "half.tsv, line 2: there are neither"),
        ("none.tsv", "nothing to measure"),
        ("empty.csv", "there is no pair in it"),
        ("missing.tsv", "missing.tsv"),
    ] {
        let run = room.run(&["eval", "--corpus", "in.jsonl", "--truth", truth]);
        assert!(run.code == 3 && run.err.contains(said) && run.out.is_empty(), "{truth}: {}", run.err);
    }
    for wrong in [
        &["eval", "--corpus", "in.jsonl"][..],
        &["eval", "--truth", "pairs.tsv"],
        &["eval", "--corpus", "in.jsonl", "--truth", "pairs.tsv", "--plot", "c.jpg"],
        &["eval", "--corpus", "in.jsonl", "--truth", "pairs.tsv", "--precision", "2"],
    ] {
        assert_eq!(room.run(wrong).code, 2, "{wrong:?}");
    }
}

#[test]
fn contradictions_and_pairs_of_one_are_named_and_counted() {
    let room = room();
    room.write("truth.tsv", "a\tb\tlabel\na\tb\t1\nc\te\t1\na\tc\t0\nb\ta\t0\nd\td\t1\na\tb\t1\n");
    let arguments = ["eval", "--corpus", "in.jsonl", "--truth", "truth.tsv"];
    let run = room.run(&[&arguments[..], &["--json"]].concat());
    assert_eq!(run.code, 3);
    for said in [
        "truth.tsv, line 5: \"b\" and \"a\" are no duplicates here and duplicates in line 2, which counts",
        "truth.tsv, line 6: both ids are \"d\"",
    ] {
        assert!(run.err.contains(said), "{said}: {}", run.err);
    }
    assert_eq!(run.err.lines().count(), 2, "the same once more is no contradiction: {}", run.err);
    let object = &run.json()[0];
    assert_eq!((&object["contradictions"], &object["self_pairs"]), (&json!(1), &json!(1)));
    assert_eq!((&object["true_pairs"], &object["other_pairs_known"]), (&json!(2), &json!(1)));
    let run = room.good(&[&arguments[..], &["--on-error", "skip"]].concat());
    let said = "left out: 1 line of the truth that says the opposite of an earlier one, 1 that pairs a document with itself";
    assert!(run.out.contains(said), "{}", run.out);
    let run = room.run(&[&arguments[..], &["--on-error", "stop"]].concat());
    assert!(run.code == 3 && run.out.is_empty() && run.err.contains("line 5"), "{}", run.err);
    // Clusters and labels may be mixed, and contradict each other too.
    let lines = [
        json!({ "a": "a", "b": "b", "label": 0 }),
        json!({ "id": "a", "cluster": 1 }),
        json!({ "id": "b", "cluster": 1 }),
    ];
    room.jsonl("mixed.jsonl", &[&lines[..], &[json!({ "a": "c", "b": "e" })]].concat());
    let run = room.run(&["eval", "--corpus", "in.jsonl", "--truth", "mixed.jsonl", "--json"]);
    assert!(
        run.code == 3 && run.err.contains("mixed.jsonl, line 3") && run.err.contains("in line 1"),
        "{}",
        run.err
    );
    assert_eq!(run.json()[0]["true_pairs"], 1);
}

#[test]
fn one_is_said_as_one() {
    let room = room();
    room.write("truth.csv", "id_a,id_b,label\na,b,1\na,c,0\n");
    let run = room.good(&["eval", "--corpus", "in.jsonl", "--truth", "truth.csv"]);
    for said in ["5 documents, 1 true pair, 1 of them found", "1 pair is labelled as none"] {
        assert!(run.out.contains(said), "{said}: {}", run.out);
    }
}
