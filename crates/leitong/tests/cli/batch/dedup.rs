use super::*;

#[test]
fn what_stays_is_copied_byte_for_byte() {
    let room = Room::new();
    // Spaces, escapes, the order of fields, line ends and unknown fields are as they came.
    let first = format!("{{ \"text\" : {} ,\"x\":[1, 2.50],\"id\":7}}", json!(text(1)));
    let second = format!("{{\"id\":\"b\",\"text\":{}}}", json!(reprinted(1)));
    let third = format!("{{\"id\":\"\\u0063\",\"text\":{},\"id2\":null}}\r", json!(text(2)));
    room.write("in.jsonl", format!("{first}\n\n{second}\n   \n{third}"));
    let run = room.good(&["dedup", "in.jsonl", "-o", "out.jsonl", "--removed", "why.jsonl"]);
    assert_eq!(room.read("out.jsonl"), format!("{first}\n{third}\n"));
    let why = room.json("why.jsonl");
    assert_eq!(why.len(), 1);
    assert_eq!(
        (&why[0]["id"], &why[0]["kept"], &why[0]["verdict"]),
        (&json!("b"), &json!("7"), &json!("exact"))
    );
    assert!(run.out.is_empty() && run.err.contains("3 documents: 2 stay, 1 goes (1 exact)"), "{}", run.err);
    assert_eq!(room.names(), ["in.jsonl", "out.jsonl", "out.jsonl.journal", "why.jsonl"]);
}

#[test]
fn evidence_names_everything() {
    let room = Room::new();
    room.jsonl("in.jsonl", &five());
    let run = room.good(&["dedup", "in.jsonl", "-o", "out.jsonl", "--removed", "why.jsonl", "--json"]);
    assert_eq!(room.ids("out.jsonl"), ["a", "c"]);
    let why = room.json("why.jsonl");
    let kept: Vec<(&str, &str)> =
        why.iter().map(|line| (line["id"].as_str().unwrap(), line["kept"].as_str().unwrap())).collect();
    assert_eq!(kept, [("b", "a"), ("d", "a"), ("e", "c")]);
    let near = &why[1];
    for field in ["jaccard", "a_in_b", "b_in_a", "rare", "numbers_differ"] {
        assert!(near[field].is_number(), "{field}: {near}");
    }
    assert!(near["rule"].is_string() && !near["passages"].as_array().unwrap().is_empty(), "{near}");
    assert!(why[0].get("passages").is_none(), "equal texts need none");
    let summary = &run.json()[0];
    assert_eq!(
        (&summary["documents"], &summary["kept"], &summary["removed"]),
        (&json!(5), &json!(2), &json!(3))
    );
    assert_eq!(summary["by_verdict"], json!({ "exact": 1, "near": 2 }));
    for field in ["seconds", "documents_per_second", "peak_bytes", "quotes", "skipped"] {
        assert!(summary[field].is_number(), "{field}: {summary}");
    }
}

#[test]
fn any_number_of_threads_and_any_memory_give_the_same_bytes() {
    let room = Room::new();
    room.jsonl("in.jsonl", &many(3000));
    let files = ["out.jsonl", "why.jsonl", "out.jsonl.journal"];
    let arguments = ["dedup", "in.jsonl", "-o", "out.jsonl", "--removed", "why.jsonl", "--source", "source"];
    let mut first: Option<Vec<Vec<u8>>> = None;
    for (threads, memory) in [("1", "64M"), ("2", "64M"), ("1", "2G"), ("4", "1G")] {
        room.good(&[&arguments[..], &["--threads", threads, "--memory", memory]].concat());
        let bytes: Vec<Vec<u8>> = files.iter().map(|name| room.bytes(name)).collect();
        assert_eq!(*first.get_or_insert_with(|| bytes.clone()), bytes, "{threads} threads, {memory}");
    }
    assert!(room.ids("out.jsonl").len() < 2900 && room.json("why.jsonl")[0]["source"].is_string());
}

#[test]
fn several_inputs_are_one_corpus() {
    let room = Room::new();
    let all = five();
    room.jsonl("1.jsonl", &all[..2]);
    room.jsonl("2.jsonl", &all[2..]);
    room.good(&["dedup", "1.jsonl", "2.jsonl", "-o", "out.jsonl"]);
    assert_eq!(room.ids("out.jsonl"), ["a", "c"]);
    room.good(&["dedup", "2.jsonl", "1.jsonl", "-o", "out.jsonl"]);
    assert_eq!(room.ids("out.jsonl"), ["c", "d"], "the first is another one then");
}

#[test]
fn nothing_in_nothing_out() {
    let room = Room::new();
    room.write("in.jsonl", "");
    let run = room.good(&["dedup", "in.jsonl", "-o", "out.jsonl", "--json"]);
    assert_eq!((room.read("out.jsonl").as_str(), &run.json()[0]["documents"]), ("", &json!(0)));
    assert!(room.good(&["pairs", "in.jsonl"]).out.is_empty());
    assert!(room.good(&["cluster", "in.jsonl"]).out.is_empty());
}

#[test]
fn standard_input() {
    let room = Room::new();
    let lines = format!("{}\n{}\n{}\n", text(1), reprinted(1), text(2));
    let run = room.run_with(&["dedup", "-", "-o", "out.txt"], &lines);
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(room.read("out.txt"), format!("{}\n{}\n", text(1), text(2)));
    let run = room.run_with(&["dedup", "-o", "out.jsonl"], &lines);
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(room.json("out.jsonl"), [document("1", &text(1)), document("3", &text(2))]);
    let objects: String = five().iter().map(|document| format!("{document}\n")).collect();
    let run = room.run_with(&["dedup", "-", "--stdin", "jsonl", "-o", "out.jsonl"], &objects);
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(room.ids("out.jsonl"), ["a", "c"]);
    assert_eq!(room.run_with(&["pairs", "--stdin", "jsonl"], &objects).lines().len(), 4);
}

#[test]
fn containers_stay() {
    let room = Room::new();
    let both = format!("{}\n{}\n{}", text(3), text(1), text(4));
    room.jsonl("in.jsonl", &[document("part", &text(1)), document("whole", &both)]);
    room.good(&["dedup", "in.jsonl", "-o", "out.jsonl", "--removed", "why.jsonl"]);
    assert_eq!(room.ids("out.jsonl"), ["whole"]);
    let why = &room.json("why.jsonl")[0];
    assert_eq!((&why["verdict"], &why["kept"]), (&json!("contained"), &json!("whole")));
    assert!(why["a_in_b"].as_f64().unwrap() > why["b_in_a"].as_f64().unwrap(), "{why}");
}

#[test]
fn an_output_that_cannot_be_written_is_said_before_the_work() {
    let room = Room::new();
    room.jsonl("in.jsonl", &five());
    let run = room.run(&["dedup", "in.jsonl", "-o", "nowhere/out.jsonl"]);
    assert!(run.code == 3 && run.err.contains("nowhere"), "{}", run.err);
    let run = room.run(&["dedup", "in.jsonl", "-o", "out.csv"]);
    assert!(run.code == 3 && run.err.contains(".jsonl"), "{}", run.err);
}

#[test]
fn one_is_said_as_one() {
    let room = Room::new();
    room.jsonl("in.jsonl", &[document("a", &text(1))]);
    room.jsonl("two.jsonl", &[document("a", &text(1)), document("b", &reprinted(1))]);
    let run = room.good(&["dedup", "in.jsonl", "-o", "out.jsonl", "--report", "r.html"]);
    assert!(run.err.starts_with("1 document: 1 stays, 0 go\n"), "{}", run.err);
    assert!(room.read("r.html").contains("<title>Leitong: 0 of 1 document go</title>"));
    let run = room.good(&["dedup", "two.jsonl", "-o", "out.jsonl"]);
    assert!(run.err.starts_with("2 documents: 1 stays, 1 goes (1 exact)\n"), "{}", run.err);
    assert_eq!(room.good(&["undo", "out.jsonl.journal"]).out, "restored\t1 document\tout.jsonl\n");
}
