use super::*;

#[test]
fn a_sample_is_compared_exactly() {
    let room = Room::new();
    room.jsonl("in.jsonl", &five());
    let arguments = ["dedup", "in.jsonl", "-o", "out.jsonl", "--audit", "10"];
    let object = room.good(&[&arguments[..], &["--json"]].concat()).json().remove(0);
    let audit = &object["audit"];
    assert_eq!((&audit["removed"]["checked"], &audit["removed"]["duplicates"]), (&json!(3), &json!(3)));
    assert_eq!((&audit["kept"]["checked"], &audit["kept"]["duplicates"]), (&json!(2), &json!(0)));
    // Three of three: Wilson's lower bound is n / (n + z²).
    assert_eq!((&audit["removed"]["low"], &audit["removed"]["high"]), (&json!(0.4385), &json!(1.0)));
    let run = room.good(&arguments);
    for said in [
        "audit: 3 of 3 removals and 2 of 2 kept documents, drawn with the seed 1",
        "removals that are duplicates: 3 of 3, 100.0 % (of all, with 95 % confidence: 43.9 to 100.0 %)",
        "kept documents that another kept one duplicates: 0 of 2",
    ] {
        assert!(run.err.contains(said), "{said}: {}", run.err);
    }
}

#[test]
fn what_the_rules_keep_on_purpose_is_listed() {
    let room = Room::new();
    // One form, many days: numbers differ in otherwise equal texts.
    let day = |at: u64| {
        let rates: String =
            (0..12).map(|n| format!("第{n}种货币报{}元，", at * 7919 % 1000 + n * 37 + at)).collect();
        document(
            &format!("day{at}"),
            &format!("中国外汇交易中心公布人民币汇率中间价如下：{rates}以上价格仅供参考，不构成任何建议。"),
        )
    };
    room.jsonl("in.jsonl", &(1..40).map(day).collect::<Vec<_>>());
    let run = room.good(&["dedup", "in.jsonl", "-o", "out.jsonl", "--audit", "5"]);
    let object =
        room.good(&["dedup", "in.jsonl", "-o", "out.jsonl", "--audit", "5", "--json"]).json().remove(0);
    let (missed, doubtful) = (&object["audit"]["missed"], &object["audit"]["doubtful"]);
    for (list, said) in
        [(missed, "kept, though a duplicate by this measure"), (doubtful, "removed, though not")]
    {
        assert_eq!(run.err.contains(said), !list.as_array().unwrap().is_empty(), "{}", run.err);
    }
    for line in missed.as_array().unwrap() {
        assert!(
            line["inside"].as_f64().unwrap() >= 0.5
                && line["rule"].is_string()
                && line["id"] != line["other"],
            "{line}"
        );
    }
}

#[test]
fn the_seed_decides_the_sample() {
    let room = Room::new();
    room.jsonl("in.jsonl", &many(400));
    let audit = |seed: &str, threads: &str| {
        let flags = ["--audit", "20", "--audit-seed", seed, "--threads", threads, "--json"];
        let run = room.good(&[&["dedup", "in.jsonl", "-o", "out.jsonl"], &flags[..]].concat());
        run.json().remove(0)["audit"].clone()
    };
    assert_eq!(audit("1", "1"), audit("1", "3"));
    assert_eq!(audit("1", "2")["removed"]["checked"], 20);
    assert_eq!((&audit("2", "2")["seed"], &audit("2", "2")["kept"]["checked"]), (&json!(2), &json!(20)));
}

#[test]
fn nothing_to_draw_from_and_wrong_flags() {
    let room = Room::new();
    room.jsonl("in.jsonl", &[document("a", &text(1))]);
    let run = room.good(&["dedup", "in.jsonl", "-o", "out.jsonl", "--audit", "3"]);
    assert!(run.err.contains("removals that are duplicates: there are none"), "{}", run.err);
    for wrong in [&["--audit", "0"][..], &["--audit", "many"], &["--audit-seed", "3"]] {
        assert_eq!(
            room.run(&[&["dedup", "in.jsonl", "-o", "out.jsonl"], wrong].concat()).code,
            2,
            "{wrong:?}"
        );
    }
}
